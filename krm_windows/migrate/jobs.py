"""The CronJobs of a cluster that open and close: what each runs, and when.

What speaks of suspending in a form that is not read is an error: it may open or close anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from krm_windows import gateable, rules
from krm_windows.emit import labels
from krm_windows.flux import Cluster, Finding, Kustomization, Object
from krm_windows.flux.model import ObjectIdentity
from krm_windows.krm import InputError, Value, value
from krm_windows.migrate import commands, heuristics, shell
from krm_windows.migrate.commands import Action, CommandError
from krm_windows.migrate.shell import Command, ShellError
from krm_windows.rules import Rule

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
# The images that are common here, and the programs that are their entry points.
_ENTRY_POINTS = {"flux-cli": ["flux"], "kubectl": ["kubectl"]}
# The first words of the names of images with such a program: `flux-cli`, `kubectl-shell`.
_PROGRAMS = frozenset({"flux", "flux2", "fluxcd", "kubectl"})
_POD = ("spec", "jobTemplate", "spec", "template", "spec")
# Kinds that speak of suspending without doing it: descriptions of fields, texts of alerts.
# A Flux Kustomization's patches are no scripts of its own: what they make is read where it is
# applied.
_SILENT = frozenset(
    {"CustomResourceDefinition", "PrometheusRule", "GrafanaDashboard", "Kustomization", "CronJob"}
)
_ADVICE = "write its window into a WindowPolicy by hand, or have it run plain commands"


@dataclass(frozen=True, slots=True)
class Job:
    """A CronJob that suspends or resumes."""

    item: Object
    actions: tuple[Action, ...]

    @property
    def schedule(self) -> str:
        """When it runs."""
        return str(self.item.get("spec", "schedule") or "")

    @property
    def zone(self) -> str | None:
        """Its time zone, None where none is given."""
        found = self.item.get("spec", "timeZone")
        return None if found is None else str(found)

    @property
    def suspended(self) -> bool:
        """Whether it never runs (Kubernetes, `spec.suspend`)."""
        return self.item.get("spec", "suspend") is True


@dataclass
class ClusterJobs:
    """What a migration reads of a cluster; `findings` are what it did not understand, and more."""

    cluster: Cluster

    name: str | None
    """None where the repository is for one cluster only."""

    jobs: list[Job] = field(default_factory=list)
    gated: dict[ObjectIdentity, Object] = field(default_factory=dict)
    """What can be suspended."""

    findings: list[Finding] = field(default_factory=list)

    def report(self, rule: Rule, message: str, about: Object, path: str = "") -> None:
        """Take a finding."""
        self.findings.append(Finding(rule, message, about, path, cluster=self.cluster.name))


def read(cluster: Cluster, name: str | None) -> ClusterJobs:
    """Read what is applied to a cluster, but for what was rendered of a policy."""
    found = ClusterJobs(cluster, name)
    every: dict[ObjectIdentity, tuple[Kustomization, Object]] = {}
    for applied in cluster.kustomizations.values():
        for item in applied.objects:
            try:
                if _is_looked_at(item):
                    # Now, so that whoever asks for a part of it meets no error.
                    value(item.item.node)
                    _take(found, every, applied, item)
            # One that cannot be read must not hide the windows of the others.
            except InputError as error:
                message = f"{item} cannot be read: {error.message}"
                found.report(rules.MIGRATE_UNTRANSLATED, message, item)
    # In the order of their names, so that the order of files changes nothing.
    for _, (_, item) in sorted(every.items(), key=lambda each: each[0]):
        if is_one(item):
            _read(found, item)
        else:
            _scripts(found, item)
    return found


def _is_looked_at(item: Object) -> bool:
    """Whether an object may suspend, or be suspended; to look for words in its text is quick."""
    if item.kind == "CronJob" or gateable.find(item.kind, item.api_version):
        return True
    return item.kind not in _SILENT and heuristics.may_suspend(item.item.span)


def _take(
    found: ClusterJobs,
    every: dict[ObjectIdentity, tuple[Kustomization, Object]],
    applied: Kustomization,
    item: Object,
) -> None:
    # What was rendered of a policy suspends and resumes as well.
    if labels.POLICY in item.item.labels:
        return
    other, first = every.get(item.identity, (applied, item))
    # A directory that is taken as a whole, as nothing in Git says who applies it, also holds what
    # others apply from it.
    if other.own and is_one(item) and first.get("spec") != item.get("spec"):
        message = f"is applied with different content by {other} and by {applied}"
        found.report(rules.MIGRATE_UNTRANSLATED, message, item)
    every[item.identity] = (applied, item)
    if gateable.find(item.kind, item.api_version):
        found.gated[item.identity] = item


def is_one(item: Object) -> bool:
    """Whether an object is a CronJob that suspends or resumes anything."""
    # By the words alone: most CronJobs do something else, and need no reading of their shell.
    return any(heuristics.mentions(_said(each)) for _, each in _containers(item))


def _containers(item: Object) -> Iterator[tuple[str, Container]]:
    """Yield the containers of a CronJob with their paths, those that run first included."""
    if (item.group, item.kind) != ("batch", "CronJob"):
        return
    for key in ("initContainers", "containers"):
        for index, each in enumerate(item.entries(*_POD, key)):
            if isinstance(each, dict):
                yield f"{'.'.join(_POD)}.{key}[{index}]", each


def _read(found: ClusterJobs, item: Object) -> None:
    """Read a CronJob that suspends or resumes, or say why it cannot be read."""
    before = len(found.findings)
    actions: list[Action] = []
    for path, container in _containers(item):
        try:
            does, left_out = commands.read(_commands(container), item.namespace)
        except (ShellError, CommandError) as error:
            message = f"{error}; {_ADVICE}"
            found.report(rules.MIGRATE_UNSUPPORTED, message, item, _last(path, container))
            return
        actions += does
        for command in left_out:
            message = f"also runs `{command}`, which the policy does not do"
            found.report(rules.MIGRATE_LEFT_OUT, message, item, _last(path, container))
    if actions:
        found.jobs.append(Job(item, tuple(actions)))
    # It speaks of suspending, and no command of it does so; in an `echo`, that is no window.
    elif len(found.findings) == before:
        _scripts(found, item)


def _list(container: Container, key: str) -> list[Value]:
    found = container.get(key)
    return found if isinstance(found, list) else []


def _environment(container: Container) -> dict[str, str | None]:
    """Return the variables of a container; the value is None where only the cluster knows it."""
    entries = [each for each in _list(container, "env") if isinstance(each, dict)]
    # Of two with one name the last one counts.
    given = {str(entry.get("name")): entry.get("value") for entry in entries}
    return {name: None if each is None else str(each) for name, each in given.items()}


def _words(container: Container) -> list[str]:
    """Return what a container runs; the entry points of the images that are common are known."""
    # `command` takes the place of the image's entry point, whatever that is (Kubernetes).
    program = _list(container, "command") or _ENTRY_POINTS.get(_image_name(container), [])
    return list(map(str, [*program, *_list(container, "args")]))


def _said(container: Container) -> str:
    """Return what a container runs, with the values of its environment, which may be a script."""
    return " ".join([*_words(container), *filter(None, _environment(container).values())])


def _image_name(container: Container) -> str:
    """Return the name of an image: of `ghcr.io/fluxcd/flux-cli:v2.9.0@sha256:…` `flux-cli`."""
    name = str(container.get("image")).rpartition("/")[2]
    return name.partition("@")[0].partition(":")[0]


def _is_shell(word: str) -> bool:
    return word.rpartition("/")[2] in _SHELLS


def _commands(container: Container) -> list[Command]:
    """Return the commands that a container runs; raises ShellError or CommandError."""
    environment = _environment(container)
    elsewhere = _ELSEWHERE.intersection(environment)
    if elsewhere:
        raise CommandError(f"the variable `{min(elsewhere)}` decides where it acts")
    # What `$(…)` in a value refers to is known in the cluster.
    known = {name: given for name, given in environment.items() if given and "$(" not in given}
    words = [_REFERENCE.sub(lambda f: known.get(f[1], f[0]), word) for word in _words(container)]
    if not words:
        return []
    # Without a shell nothing is expanded but `$(NAME)`, by Kubernetes itself.
    if not _is_shell(words[0]):
        return [Command(tuple(words), expands=any(map(_REFERENCE.search, words)))]
    # `-c`, `-ec`, `-euo pipefail -c`: what is behind it is the script.
    for flag, following in pairwise(words):
        if _FLAGS.fullmatch(flag) and "c" in flag:
            return shell.split(following, known)
    # One in a file is not read; `_scripts` warns of it.
    return [Command(tuple(words))]


def _last(path: str, container: Container) -> str:
    """Return the path of the last word that a container runs."""
    for key in ("args", "command"):
        if listed := _list(container, key):
            return f"{path}.{key}[{len(listed) - 1}]"
    return path


def _scripts(found: ClusterJobs, item: Object) -> None:
    """Name what an object has that suspends or resumes, and that is not read."""
    if item.kind not in _SILENT:
        if any(map(heuristics.is_script, _texts(item.get()))):
            message = "has a script that suspends or resumes; put its commands into a CronJob"
            found.report(rules.MIGRATE_UNSUPPORTED, message, item)
        return
    for path, container in _containers(item):
        if heuristics.is_script(_said(container)):
            message = f"has a script that suspends or resumes and is not read; {_ADVICE}"
            found.report(rules.MIGRATE_UNSUPPORTED, message, item, _last(path, container))
        # `sh /scripts/close.sh` and `/scripts/close.sh` are both the script.
        words = [word for word in _words(container) if not _is_shell(word)]
        program = _image_name(container).partition("-")[0]
        if program in _PROGRAMS and words and _SCRIPT.fullmatch(words[0]):
            message = (
                f"runs {words[0]}, which is not read: if it opens or closes anything, no policy "
                "does so"
            )
            found.report(rules.MIGRATE_LEFT_OUT, message, item, _last(path, container))


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
