"""The CronJobs that open and close: what each runs, when, and whether it is suspended itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from krm_windows import rules
from krm_windows.migrate import actions, shapes, shell, trees
from krm_windows.migrate.actions import Action, CommandError, Script
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.shell import Command, ShellError
from krm_windows.migrate.trees import Document, Leaf, Map, Place, Tree, leaf, text
from krm_windows.results import Result
from krm_windows.schedule import cron

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_SCRIPT = re.compile(r"(?!-)[\w.-]*/[\w./-]+|[\w-]+\.(?:sh|bash)")
_FLAGS = re.compile(r"-[a-z]+")
# `$(NAME)` in a command is replaced before it runs, where the container has that variable (Kubernetes).
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)", re.ASCII)
# Variables that say which cluster, or which namespace, a command acts on.
_ELSEWHERE = frozenset(
    {"KUBECONFIG", "FLUX_SYSTEM_NAMESPACE", "KUBERNETES_MASTER", "KUBERNETES_SERVICE_HOST"}
)
_LONGEST_LINE = 200
_POD = ("spec", "jobTemplate", "spec", "template", "spec")


@dataclass(frozen=True, slots=True)
class Job:
    """A CronJob that suspends or resumes; `schedule` is None where it is wrong, `zone` where none is given."""

    document: Document
    schedule: str | None
    zone: str | None
    suspended: bool
    actions: tuple[Action, ...]
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        """The CronJob's name."""
        return self.document.name

    @property
    def namespace(self) -> str:
        """The CronJob's namespace."""
        return self.document.namespace

    @property
    def place(self) -> Place:
        """Where its schedule is written."""
        return _leaf(self.document, "spec", "schedule").place


def is_one(document: Document) -> bool:
    """Whether an object is a CronJob that suspends or resumes anything."""
    if (document.kind, document.group) != ("CronJob", "batch"):
        return False
    return any(shapes.mentions(" ".join(_said(container))) for container in containers(document))


def _said(container: Map) -> list[str]:
    """Return what a container runs, with the values of its environment, which may be a script."""
    given = [text(entry, "value") for entry in trees.items(container, "env")]
    return [*_words(container), *given]


def containers(document: Document) -> list[Map]:
    """Return the containers of a CronJob, those that run first included."""
    found = (
        *trees.items(document.tree, *_POD, "initContainers"),
        *trees.items(document.tree, *_POD, "containers"),
    )
    return [container for container in found if isinstance(container, dict)]


def account(document: Document) -> str:
    """Return the name of the ServiceAccount that a CronJob runs as."""
    return (
        text(document.tree, *_POD, "serviceAccountName")
        or text(document.tree, *_POD, "serviceAccount")
        or "default"
    )


def read(document: Document) -> Job:
    """Read a CronJob."""
    script, results = _script(document)
    written = _leaf(document, "spec", "schedule")
    schedule, zone, wrong = _schedule(written)
    given = leaf(document.tree, "spec", "timeZone")
    suspend = leaf(document.tree, "spec", "suspend")
    found = [*results, *wrong, *_chain(document, script), *_left_out(document, script)]
    if not results and not script.actions:
        found += _elsewhere(document)
    if suspend and not isinstance(suspend.value, bool):
        found.append(
            found_at(
                rules.MIGRATE_UNTRANSLATED,
                suspend.place,
                f"`suspend` is {suspend.text}, neither true nor false",
            )
        )
    return Job(
        document,
        schedule,
        zone or (given.text if given else None),
        suspended=suspend is not None and suspend.value is True,
        actions=script.actions if not results else (),
        results=tuple(found),
    )


def _leaf(document: Document, *path: str) -> Leaf:
    return leaf(document.tree, *path) or Leaf(None, "", document.place)


def _schedule(written: Leaf) -> tuple[str | None, str | None, list[Result]]:
    """Return the schedule without its own time zone, that time zone, and what is wrong with it."""
    try:
        parsed = cron.parse(written.text)
    except cron.CronError as error:
        message = f"the schedule {written.text!r} is none that Kubernetes accepts: {error}"
        return None, None, [found_at(rules.MIGRATE_UNTRANSLATED, written.place, message)]
    if parsed.time_zone in (None, "", "Local"):
        return written.text, None, []
    return written.text.partition(" ")[2].strip(), parsed.time_zone, []


def _script(document: Document) -> tuple[Script, list[Result]]:
    found = Script()
    for container in containers(document):
        place = next((each.place for each in reversed(_program(container))), document.place)
        try:
            more = actions.read(_commands(container), document.namespace)
        except (ShellError, CommandError) as error:
            return found, [found_at(rules.MIGRATE_UNREAD, place, f"{document.name}: {error}")]
        found = Script(
            (*found.actions, *more.actions),
            found.chained or more.chained,
            (*found.left_out, *more.left_out),
        )
    return found, []


def _program(container: Map) -> list[Leaf]:
    listed = (*trees.items(container, "command"), *trees.items(container, "args"))
    return [word for word in listed if isinstance(word, Leaf)]


def _words(container: Map) -> list[str]:
    """Return what a container runs; the entry points of the images that are common here are known."""
    words = [word.text for word in _program(container)]
    if trees.items(container, "command"):
        return words
    image = text(container, "image").rpartition("/")[2].partition(":")[0].partition("@")[0]
    program = {"flux-cli": "flux", "kubectl": "kubectl"}.get(image)
    return [program, *words] if program else words


def _commands(container: Map) -> list[Command]:
    """Return the commands that a container runs; raises ShellError or CommandError."""
    given = [entry for entry in trees.items(container, "env") if text(entry, "name")]
    elsewhere = sorted(_ELSEWHERE & {text(entry, "name") for entry in given})
    if elsewhere:
        raise CommandError(f"the variable `{elsewhere[0]}` says where it acts")
    known = {
        text(entry, "name"): text(entry, "value") for entry in given if trees.leaf(entry, "value")
    }
    known = {name: value for name, value in known.items() if "$(" not in value}
    words = [
        _REFERENCE.sub(lambda found: known.get(found[1], found[0]), word)
        for word in _words(container)
    ]
    program, *rest = words or [""]
    if program.rpartition("/")[2] not in _SHELLS:
        unknown = any(_REFERENCE.search(word) for word in words)
        return [Command(tuple(words), expands=unknown)] if words else []
    flags, script = _script_of(rest)
    if script is None:
        return [Command(tuple(words))]
    return shell.split(script, known, stops=any("e" in flag for flag in flags))


def _script_of(words: list[str]) -> tuple[list[str], str | None]:
    """Return the flags of a shell, and the script that it is given on its command line."""
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if not _FLAGS.fullmatch(word):
            break
        if word.endswith("o"):
            option = next(rest, "")
            flags += ["-e"] if option == "errexit" else []
            word = word[:-1]  # noqa: PLW2901 - its last letter was read
        flags.append(word)
        if "c" in word:
            return flags, next(rest, None)
    return flags, None


def _place(document: Document) -> Place:
    programs = [word for container in containers(document) for word in _program(container)]
    return programs[-1].place if programs else document.place


def _chain(document: Document, script: Script) -> Iterator[Result]:
    if script.chained:
        message = f"{document.name}: behind `&&` nothing runs once a command has failed, so the rest stays as it is"
        yield found_at(rules.MIGRATE_CHAIN, _place(document), message)


def scripts(document: Document) -> Iterator[Result]:
    """Name text in an object other than a CronJob that suspends or resumes: what runs it is not read."""
    for found in _texts(document.tree):
        if shapes.turns(found.text):
            line = _turning_line(found.text)
            message = (
                f"{document} has a script that suspends or resumes, which is not read: `{line}`"
            )
            yield found_at(
                rules.MIGRATE_UNREAD, found.place, f"{message}; write the commands into a CronJob"
            )


def _texts(tree: Tree) -> Iterator[Leaf]:
    """Yield the texts of an object, the words of a list as one."""
    if isinstance(tree, Leaf):
        yield tree
    elif isinstance(tree, dict):
        for entry in tree.values():
            yield from _texts(entry)
    else:
        words = [entry for entry in tree if isinstance(entry, Leaf)]
        if words:
            joined = " ".join(word.text for word in words)
            yield Leaf(joined, joined, words[0].place)
        for entry in tree:
            if not isinstance(entry, Leaf):
                yield from _texts(entry)


def _turning_line(script: str) -> str:
    """Return the line of a script that is the reason to name it."""
    lines = [line.strip() for line in script.splitlines() if line.strip()]
    return next((line for line in lines if shapes.turns(line)), lines[0])[:_LONGEST_LINE]


def unseen(document: Document) -> Iterator[Result]:
    """Say of a CronJob with flux or kubectl that it runs a script which is not in it, so that nobody looked at it."""
    if (document.kind, document.group) == ("CronJob", "batch"):
        for container in containers(document):
            yield from _files(document, container)


def _elsewhere(document: Document) -> Iterator[Result]:
    """Name a script of a CronJob that is in none of its commands: in its environment, or in a file."""
    for container in containers(document):
        said = " ".join(_said(container))
        if shapes.turns(said):
            message = f"{document.name}: `{_turning_line(said)}` is not understood"
            yield found_at(rules.MIGRATE_UNREAD, _place(document), message)
    yield from unseen(document)


def _files(document: Document, container: Map) -> Iterator[Result]:
    """Name a script that a container with flux or kubectl runs from a file: nobody looked at it."""
    image = text(container, "image").rpartition("/")[2]
    words = [word for word in _words(container) if word.rpartition("/")[2] not in _SHELLS]
    if image.startswith(("flux", "kubectl")) and words and _SCRIPT.fullmatch(words[0]):
        message = f"{document.name} runs {words[0]}, which is not read: if it opens or closes anything, no policy does"
        yield found_at(rules.MIGRATE_LEFT_OUT, _place(document), message)


def _left_out(document: Document, script: Script) -> Iterator[Result]:
    for command in script.left_out:
        message = f"{document.name} also runs `{command}`, which the policy does not"
        yield found_at(rules.MIGRATE_LEFT_OUT, _place(document), message)
