"""The CronJobs that open and close: what each runs, when, and whether it is suspended itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from krm_windows import rules
from krm_windows.migrate import heuristics, shell, trees
from krm_windows.migrate.actions import Action, CommandError, Script
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.shell import Command, ShellError
from krm_windows.migrate.trees import Document, Leaf, Location, Map, Tree, leaf, text
from krm_windows.results import Result
from krm_windows.schedule import cron

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
# A path, or the name of a file that is a script: `/scripts/close.sh`, `close.sh`.
_SCRIPT = re.compile(r"(?!-)[\w.-]*/[\w./-]+|[\w-]+\.(?:sh|bash)")
# `-c`, `-ec`, `-euo`.
_FLAGS = re.compile(r"-[a-z]+")
# `$(NAME)` in a command is replaced before it runs, where the container has that variable
# (Kubernetes, "Use environment variables to define arguments").
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)", re.ASCII)
# Variables that say which cluster, or which namespace, a command acts on.
_ELSEWHERE = frozenset(
    {
        "KUBECONFIG",
        "FLUX_SYSTEM_NAMESPACE",
        "KUBERNETES_MASTER",
        "KUBERNETES_SERVICE_HOST",
    }
)
_LONGEST_LINE = 200
# The images that are common here, and the programs that are their entry points.
_ENTRY_POINTS = {"flux-cli": "flux", "kubectl": "kubectl"}
# The first words of the names of images with such a program: `flux-cli`, `kubectl-shell`.
_PROGRAMS = frozenset({"flux", "flux2", "fluxcd", "kubectl"})
_POD = ("spec", "jobTemplate", "spec", "template", "spec")


@dataclass(frozen=True, slots=True)
class Job:
    """A CronJob that suspends or resumes."""

    document: Document

    schedule: str | None
    """Without a time zone of its own; None where it is wrong."""

    zone: str | None
    """None where none is given."""

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
    def location(self) -> Location:
        """Where its schedule is written."""
        return _leaf(self.document, "spec", "schedule").location


def is_one(document: Document) -> bool:
    """Whether an object is a CronJob that suspends or resumes anything."""
    if not _is_cron_job(document):
        return False
    # By the words alone: most CronJobs do something else, and need no reading of their shell.
    said = (" ".join(_said(container)) for container in containers(document))
    return any(map(heuristics.mentions, said))


def _is_cron_job(document: Document) -> bool:
    return document.kind == "CronJob" and document.group == "batch"


def _said(container: Map) -> list[str]:
    """Return what a container runs, with the values of its environment, which may be a script."""
    values = [text(entry, "value") for entry in trees.items(container, "env")]
    return _words(container) + values


def containers(document: Document) -> list[Map]:
    """Return the containers of a CronJob, those that run first included."""
    found = trees.items(document.tree, *_POD, "initContainers")
    found = found + trees.items(document.tree, *_POD, "containers")
    return [container for container in found if isinstance(container, dict)]


def account(document: Document) -> str:
    """Return the name of the ServiceAccount that a CronJob runs as."""
    # The second is the old name of the first (core/v1, PodSpec).
    for key in ("serviceAccountName", "serviceAccount"):
        name = text(document.tree, *_POD, key)
        if name:
            return name
    # The account that Kubernetes takes where none is named.
    return "default"


def read(document: Document) -> Job:
    """Read a CronJob."""
    script, unread = _script(document)
    found = [unread] if unread else []
    schedule = _schedule(_leaf(document, "spec", "schedule"))
    found += schedule.results
    found += _chain(document, script)
    found += _left_out(document, script)
    # It speaks of suspending, and no command of it does so.
    if not unread and not script.actions:
        found += _elsewhere(document)
    suspend = leaf(document.tree, "spec", "suspend")
    if suspend and not isinstance(suspend.value, bool):
        message = f"`suspend` must be true or false, got {suspend.text}"
        found.append(found_at(rules.MIGRATE_UNTRANSLATED, suspend.location, message))
    # Half of what it does would be a window that nobody made.
    return Job(
        document=document,
        schedule=schedule.text,
        # The schedule's own zone outranks (robfig/cron).
        zone=schedule.zone or _time_zone(document),
        suspended=suspend is not None and suspend.value is True,
        actions=() if unread else tuple(script.actions),
        results=tuple(found),
    )


def _time_zone(document: Document) -> str | None:
    given = leaf(document.tree, "spec", "timeZone")
    if given is None:
        return None
    return given.text


def _leaf(document: Document, *path: str) -> Leaf:
    """Return the leaf at a path; where there is none, an empty one at the document's location."""
    return leaf(document.tree, *path) or Leaf(None, "", document.location)


@dataclass(frozen=True, slots=True)
class _Schedule:
    """A schedule without its own time zone, that time zone, and what is wrong with it."""

    text: str | None
    zone: str | None = None
    results: tuple[Result, ...] = ()


def _schedule(written: Leaf) -> _Schedule:
    try:
        parsed = cron.parse(written.text)
    except cron.CronError as error:
        message = f"the schedule {written.text!r} is not accepted by Kubernetes: {error}"
        wrong = found_at(rules.MIGRATE_UNTRANSLATED, written.location, message)
        return _Schedule(None, results=(wrong,))
    # robfig/cron: `Local` is the zone of the controller, as if none were given.
    if parsed.time_zone in (None, "", "Local"):
        return _Schedule(written.text)
    # `TZ=Europe/Berlin 0 6 * * *`
    _, _, plain = written.text.partition(" ")
    return _Schedule(plain.strip(), parsed.time_zone)


def _script(document: Document) -> tuple[Script, Result | None]:
    """Return what the containers of a CronJob do, one after the other, and why no more is known."""
    script = Script(document.namespace)
    for container in containers(document):
        try:
            script.read(_commands(container))
        except (ShellError, CommandError) as error:
            location = _last_location(_program(container), document)
            message = (
                f"{document.name}: {error}; write its window into a WindowPolicy by hand, or "
                "have it run plain `flux` or `kubectl patch` commands"
            )
            return script, found_at(rules.MIGRATE_UNSUPPORTED, location, message)
    return script, None


def _program(container: Map) -> list[Leaf]:
    listed = trees.items(container, "command") + trees.items(container, "args")
    return [word for word in listed if isinstance(word, Leaf)]


def _words(container: Map) -> list[str]:
    """Return what a container runs; the entry points of the images that are common are known."""
    words = [word.text for word in _program(container)]
    # `command` takes the place of the image's entry point, whatever that is (Kubernetes).
    if trees.items(container, "command"):
        return words
    program = _ENTRY_POINTS.get(_image_name(container))
    if program:
        return [program, *words]
    return words


def _image_name(container: Map) -> str:
    """Return the name of an image: of `ghcr.io/fluxcd/flux-cli:v2.9.0@sha256:…` `flux-cli`."""
    _, _, name = text(container, "image").rpartition("/")
    name, _, _ = name.partition("@")
    name, _, _ = name.partition(":")
    return name


def _commands(container: Map) -> list[Command]:
    """Return the commands that a container runs; raises ShellError or CommandError."""
    known = _variables(container)
    words = [_replaced(word, known) for word in _words(container)]
    if not words:
        return []
    # Without a shell nothing is expanded but `$(NAME)`, by Kubernetes itself.
    _, _, program = words[0].rpartition("/")
    if program not in _SHELLS:
        unknown = any(map(_REFERENCE.search, words))
        return [Command(tuple(words), expands=unknown)]
    flags, script = _script_of(words[1:])
    # A script in a file is not read; `_files` warns of it.
    if script is None:
        return [Command(tuple(words))]
    stops = any("e" in flag for flag in flags)
    return shell.split(script, known, stops=stops)


def _variables(container: Map) -> dict[str, str]:
    """Return the variables of a container whose values are known.

    Raises CommandError where one says which cluster is meant.
    """
    known: dict[str, str] = {}
    elsewhere = set()
    for entry in trees.items(container, "env"):
        name = text(entry, "name")
        if name in _ELSEWHERE:
            elsewhere.add(name)
        # One with `valueFrom` is known only in the cluster, and so is what `$(…)` refers to.
        given = leaf(entry, "value")
        if not name or given is None:
            continue
        # Of two with one name the last one counts, so what was known before is forgotten.
        if "$(" in given.text:
            known.pop(name, None)
        else:
            known[name] = given.text
    if elsewhere:
        raise CommandError(f"the variable `{min(elsewhere)}` decides where it acts")
    return known


def _replaced(word: str, known: dict[str, str]) -> str:
    """Put in the values of variables that Kubernetes puts in; what is not known stays as it is."""

    def value_of(found: re.Match[str]) -> str:
        return known.get(found[1], found[0])

    return _REFERENCE.sub(value_of, word)


def _script_of(words: list[str]) -> tuple[list[str], str | None]:
    """Return the flags of a shell, and the script that it is given on its command line."""
    flags: list[str] = []
    rest = iter(words)
    for word in rest:
        if not _FLAGS.fullmatch(word):
            break
        flag = word
        # `-o errexit`, or `-euo pipefail`: the word behind it is the option's name.
        if word.endswith("o"):
            flag = word[:-1]
            if next(rest, "") == "errexit":
                flags.append("-e")
        flags.append(flag)
        if "c" in flag:
            return flags, next(rest, None)
    return flags, None


def _location(document: Document) -> Location:
    """Return where the last word is written that a CronJob runs."""
    programs: list[Leaf] = []
    for container in containers(document):
        programs += _program(container)
    return _last_location(programs, document)


def _last_location(words: list[Leaf], document: Document) -> Location:
    if words:
        return words[-1].location
    return document.location


def _chain(document: Document, script: Script) -> Iterator[Result]:
    if not script.chained:
        return
    message = (
        f"{document.name}: after `&&` nothing runs once a command has failed, so the remaining "
        "targets are not changed"
    )
    yield found_at(rules.MIGRATE_CHAIN, _location(document), message)


def scripts(document: Document) -> Iterator[Result]:
    """Name text in an object other than a CronJob that suspends or resumes.

    What runs it is not read.
    """
    for found in _texts(document.tree):
        if not heuristics.is_script(found.text):
            continue
        line = _decisive_line(found.text)
        message = (
            f"{document} has a script that suspends or resumes, which is not supported: "
            f"`{line}`; put the commands in a CronJob"
        )
        yield found_at(rules.MIGRATE_UNSUPPORTED, found.location, message)


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
            # `["flux", "suspend", …]` is one command, though no word of it says so.
            joined = " ".join(word.text for word in words)
            yield Leaf(joined, joined, words[0].location)
        for entry in tree:
            if not isinstance(entry, Leaf):
                yield from _texts(entry)


def _decisive_line(script: str) -> str:
    """Return the line of a script that is the reason to name it."""
    lines = [line.strip() for line in script.splitlines() if line.strip()]
    # The first line that is a reason by itself; else it takes several, and the first stands for
    # all.
    decisive = next(filter(heuristics.is_script, lines), lines[0])
    return decisive[:_LONGEST_LINE]


def unseen(document: Document) -> Iterator[Result]:
    """Say of a CronJob with flux or kubectl that it runs a script which is not in it.

    So nobody looked at that script.
    """
    if _is_cron_job(document):
        for container in containers(document):
            yield from _files(document, container)


def _elsewhere(document: Document) -> Iterator[Result]:
    """Name a script of a CronJob that is in none of its commands.

    It is in its environment, or in a file.
    """
    for container in containers(document):
        said = " ".join(_said(container))
        if heuristics.is_script(said):
            message = f"{document.name}: `{_decisive_line(said)}` is not supported"
            yield found_at(rules.MIGRATE_UNSUPPORTED, _location(document), message)
    yield from unseen(document)


def _files(document: Document, container: Map) -> Iterator[Result]:
    """Name a script that a container with flux or kubectl runs from a file: nobody read it."""
    first_word, _, _ = _image_name(container).partition("-")
    if first_word not in _PROGRAMS:
        return
    # `sh /scripts/close.sh` and `/scripts/close.sh` are both the script.
    words = [word for word in _words(container) if word.rpartition("/")[2] not in _SHELLS]
    if words and _SCRIPT.fullmatch(words[0]):
        message = (
            f"{document.name} runs {words[0]}, which is not analyzed: if it opens or closes "
            "anything, no policy does so"
        )
        yield found_at(rules.MIGRATE_LEFT_OUT, _location(document), message)


def _left_out(document: Document, script: Script) -> Iterator[Result]:
    for command in script.left_out:
        message = f"{document.name} also runs `{command}`, which the policy does not do"
        yield found_at(rules.MIGRATE_LEFT_OUT, _location(document), message)
