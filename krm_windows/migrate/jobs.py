"""The CronJobs that open and close: what each runs, when, and whether it is suspended itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from krm_windows import rules
from krm_windows.krm import Value
from krm_windows.migrate import heuristics, shell
from krm_windows.migrate.actions import Action, CommandError, Script
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import Document, Location, Path
from krm_windows.migrate.shell import Command, ShellError
from krm_windows.results import Result
from krm_windows.schedule import cron

Container = dict[str, Value]

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
# A path, or the name of a file that is a script: `/scripts/close.sh`, `close.sh`.
_SCRIPT = re.compile(r"(?!-)[\w.-]*/[\w./-]+|[\w-]+\.(?:sh|bash)")
# `$(NAME)` in a command is replaced before it runs, where the container has that variable
# (Kubernetes, "Use environment variables to define arguments").
_REFERENCE = re.compile(r"\$\(([A-Za-z_]\w*)\)", re.ASCII)
# Variables that say which cluster, or which namespace, a command acts on.
_ELSEWHERE = frozenset(
    {"KUBECONFIG", "FLUX_SYSTEM_NAMESPACE", "KUBERNETES_MASTER", "KUBERNETES_SERVICE_HOST"}
)
# `-c`, `-ec`, `-euo`.
_FLAGS = re.compile(r"-[a-z]+")
_LONGEST_LINE = 200
# The images that are common here, and the programs that are their entry points.
_ENTRY_POINTS = {"flux-cli": ["flux"], "kubectl": ["kubectl"]}
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

    actions: tuple[Action, ...]
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        """The CronJob's name."""
        return self.document.name

    @property
    def suspended(self) -> bool:
        """Whether it never runs (Kubernetes, `spec.suspend`)."""
        return self.document.get("spec", "suspend") is True


def is_one(document: Document) -> bool:
    """Whether an object is a CronJob that suspends or resumes anything."""
    # By the words alone: most CronJobs do something else, and need no reading of their shell.
    return any(heuristics.mentions(_said(each)) for _, each in containers(document))


def containers(document: Document) -> Iterator[tuple[Path, Container]]:
    """Yield the containers of a CronJob with their paths, those that run first included."""
    if (document.group, document.kind) != ("batch", "CronJob"):
        return
    for key in ("initContainers", "containers"):
        for index, each in enumerate(document.entries(*_POD, key)):
            if isinstance(each, dict):
                yield (*_POD, key, index), each


def account(document: Document) -> str:
    """Return the name of the ServiceAccount that a CronJob runs as."""
    # The second is the old name of the first (core/v1, PodSpec); else Kubernetes takes `default`.
    return (
        document.text(*_POD, "serviceAccountName")
        or document.text(*_POD, "serviceAccount")
        or "default"
    )


def read(document: Document) -> Job:
    """Read a CronJob."""
    script = Script(document.namespace)
    results: list[Result] = []
    for path, container in containers(document):
        try:
            script.read(_commands(container))
        except (ShellError, CommandError) as error:
            message = (
                f"{document.name}: {error}; write its window into a WindowPolicy by hand, or "
                "have it run plain commands"
            )
            results.append(found_at(rules.MIGRATE_UNSUPPORTED, _at(document, path), message))
            # Half of what it does would be a window that nobody made.
            script.actions = []
            break
    schedule, zone, wrong = _schedule(document)
    results += wrong
    if script.chained:
        message = "after `&&` nothing runs once a command has failed, so the remaining targets are"
        message = f"{document.name}: {message} not changed"
        results.append(found_at(rules.MIGRATE_CHAIN, _at(document), message))
    for command in script.left_out:
        message = f"{document.name} also runs `{command}`, which the policy does not do"
        results.append(found_at(rules.MIGRATE_LEFT_OUT, _at(document), message))
    # It speaks of suspending, and no command of it does so.
    if not script.actions and not results:
        results += _elsewhere(document)
    suspend = document.get("spec", "suspend")
    if suspend is not None and not isinstance(suspend, bool):
        message = f"`suspend` must be true or false, got {suspend}"
        location = document.at("spec", "suspend")
        results.append(found_at(rules.MIGRATE_UNTRANSLATED, location, message))
    return Job(document, schedule, zone, tuple(script.actions), tuple(results))


def _schedule(document: Document) -> tuple[str | None, str | None, list[Result]]:
    """Return a schedule without its own zone, its zone or the CronJob's, and what is wrong."""
    written = str(document.get("spec", "schedule") or "")
    zone = document.get("spec", "timeZone")
    own = None if zone is None else str(zone)
    try:
        parsed = cron.parse(written)
    except cron.CronError as error:
        message = f"the schedule {written!r} is not accepted by Kubernetes: {error}"
        location = document.at("spec", "schedule")
        return None, own, [found_at(rules.MIGRATE_UNTRANSLATED, location, message)]
    # robfig/cron: `Local` is the zone of the controller, as if none were given.
    if parsed.time_zone in (None, "", "Local"):
        return written, own, []
    # `TZ=Europe/Berlin 0 6 * * *` outranks `timeZone` (robfig/cron).
    return written.partition(" ")[2].strip(), parsed.time_zone, []


def _list(container: Container, key: str) -> list[Value]:
    found = container.get(key)
    return found if isinstance(found, list) else []


def _environment(container: Container) -> Iterator[tuple[str, str | None]]:
    """Yield the variables of a container; the value is None where only the cluster knows it."""
    for entry in _list(container, "env"):
        if isinstance(entry, dict):
            given = entry.get("value")
            yield str(entry.get("name")), None if given is None else str(given)


def _words(container: Container) -> list[str]:
    """Return what a container runs; the entry points of the images that are common are known."""
    # `command` takes the place of the image's entry point, whatever that is (Kubernetes).
    program = _list(container, "command") or _ENTRY_POINTS.get(_image_name(container), [])
    return list(map(str, [*program, *_list(container, "args")]))


def _said(container: Container) -> str:
    """Return what a container runs, with the values of its environment, which may be a script."""
    values = [given or "" for _, given in _environment(container)]
    return " ".join(_words(container) + values)


def _image_name(container: Container) -> str:
    """Return the name of an image: of `ghcr.io/fluxcd/flux-cli:v2.9.0@sha256:…` `flux-cli`."""
    name = str(container.get("image")).rpartition("/")[2]
    return name.partition("@")[0].partition(":")[0]


def _commands(container: Container) -> list[Command]:
    """Return the commands that a container runs; raises ShellError or CommandError."""
    known = _variables(container)
    words = [_REFERENCE.sub(lambda f: known.get(f[1], f[0]), word) for word in _words(container)]
    if not words:
        return []
    # Without a shell nothing is expanded but `$(NAME)`, by Kubernetes itself.
    if words[0].rpartition("/")[2] not in _SHELLS:
        return [Command(tuple(words), expands=any(map(_REFERENCE.search, words)))]
    flags: list[str] = []
    # `-c`, `-ec`, `-euo pipefail -c`: what is behind it is the script.
    for flag, following in pairwise(words[1:]):
        if not _FLAGS.fullmatch(flag) and flags[-1:] != ["-o"]:
            break
        flags += [flag, "-o"] if flag.endswith("o") else [flag]
        if "c" in flag and _FLAGS.fullmatch(flag):
            stops = any(each == "errexit" or (each[0] == "-" and "e" in each) for each in flags)
            return shell.split(following, known, stops=stops)
    # One in a file is not read; `unseen` warns of it.
    return [Command(tuple(words))]


def _variables(container: Container) -> dict[str, str]:
    """Return the variables of a container whose values are known.

    Raises CommandError where one says which cluster is meant.
    """
    known: dict[str, str] = {}
    for name, given in _environment(container):
        if name in _ELSEWHERE:
            raise CommandError(f"the variable `{name}` decides where it acts")
        # Of two with one name the last one counts; what `$(…)` refers to is known in the cluster.
        known.pop(name, None)
        if given is not None and "$(" not in given:
            known[name] = given
    return known


def _at(document: Document, path: Path = ()) -> Location:
    """Return where the last word is written that a container, or the last one, runs."""
    paths = [each for each, _ in containers(document)]
    path = path or paths[-1]
    for key in ("args", "command"):
        listed = document.entries(*path, key)
        if listed:
            return document.at(*path, key, len(listed) - 1)
    return document.location


def scripts(document: Document) -> Iterator[Result]:
    """Name text in an object other than a CronJob that suspends or resumes.

    What runs it is not read.
    """
    for found in filter(heuristics.is_script, _texts(document.get())):
        message = (
            f"{document} has a script that suspends or resumes, which is not supported: "
            f"`{_decisive_line(found)}`; put the commands in a CronJob"
        )
        yield found_at(rules.MIGRATE_UNSUPPORTED, document.location, message)


def _texts(part: Value) -> Iterator[str]:
    """Yield the texts of an object, the words of a list as one."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for entry in part.values():
            yield from _texts(entry)
    elif isinstance(part, list):
        # `["flux", "suspend", …]` is one command, though no word of it says so.
        yield " ".join(entry for entry in part if isinstance(entry, str))
        for entry in part:
            if not isinstance(entry, str):
                yield from _texts(entry)


def _decisive_line(script: str) -> str:
    """Return the line of a script that is the reason to name it."""
    lines = [line.strip() for line in script.splitlines() if line.strip()]
    # The first line that is a reason by itself; else it takes several, and the first stands for
    # all.
    return next(filter(heuristics.is_script, lines), lines[0])[:_LONGEST_LINE]


def _elsewhere(document: Document) -> Iterator[Result]:
    """Name a script of a CronJob that is in none of its commands.

    It is in its environment, or in a file.
    """
    for _, container in containers(document):
        if heuristics.is_script(_said(container)):
            message = f"{document.name}: `{_decisive_line(_said(container))}` is not supported"
            yield found_at(rules.MIGRATE_UNSUPPORTED, _at(document), message)
    yield from unseen(document)


def unseen(document: Document) -> Iterator[Result]:
    """Name a script that a CronJob with flux or kubectl runs from a file: nobody read it."""
    for _, container in containers(document):
        # `sh /scripts/close.sh` and `/scripts/close.sh` are both the script.
        words = [word for word in _words(container) if word.rpartition("/")[2] not in _SHELLS]
        program = _image_name(container).partition("-")[0]
        if program in _PROGRAMS and words and _SCRIPT.fullmatch(words[0]):
            message = (
                f"{document.name} runs {words[0]}, which is not analyzed: if it opens or closes "
                "anything, no policy does so"
            )
            yield found_at(rules.MIGRATE_LEFT_OUT, _at(document), message)
