"""What commands suspend and resume: the Flux CLI 2.9 with its flags, and `kubectl patch`."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from krm_windows import gateable
from krm_windows.gateable import Gateable
from krm_windows.krm import InputError, Value, parse, value
from krm_windows.migrate import heuristics
from krm_windows.migrate.shell import CONDITIONAL, Command

# The namespace that the Flux CLI takes where none is given.
FLUX_SYSTEM = "flux-system"
# The kinds as `flux suspend` and `flux resume` have them.
_FLUX = {
    "kustomization": "Kustomization",
    "ks": "Kustomization",
    "helmrelease": "HelmRelease",
    "hr": "HelmRelease",
    "source git": "GitRepository",
    "source oci": "OCIRepository",
    "source bucket": "Bucket",
    "source helm": "HelmRepository",
    "source chart": "HelmChart",
    "image repository": "ImageRepository",
    "image policy": "ImagePolicy",
    "image update": "ImageUpdateAutomation",
}
# What `flux suspend` takes as well, and what only drops events while it is suspended.
_EVENTS = frozenset({"alert", "alert-provider", "receiver"})
# Programs that change nothing in the cluster, and do not fail.
_HARMLESS = frozenset({"echo", "printf", "date", "true", ":", "sleep"})
# What kubectl does with a file that is not looked into.
_WRITES = frozenset({"apply", "replace", "edit"})
# What flux or kubectl only read with.
_READS = frozenset(
    {"get", "version", "check", "logs", "events", "stats", "tree", "wait", "describe"}
    | {"--version", "trace"}
)


class CommandError(Exception):
    """A command that would change what a window gates, and is not understood."""


@dataclass(frozen=True, slots=True)
class Action:
    """Objects of one kind that a command suspends or resumes."""

    suspends: bool
    row: Gateable

    names: tuple[str, ...] | None
    """None for all of the namespace."""

    namespace: str


@dataclass
class Script:
    """What the commands of a Pod in the namespace `home` do, in order."""

    home: str
    actions: list[Action] = field(default_factory=list)

    left_out: list[str] = field(default_factory=list)
    """Commands that neither suspend nor resume."""

    chained: bool = False
    """Whether one runs only if another did not fail."""

    def read(self, commands: Iterable[Command]) -> None:
        """Take the commands of a container; raises CommandError for what is not understood."""
        # What the next command of the same list depends on, if it is behind `&&`.
        conditions: list[str] = []
        for command in commands:
            if command.after not in CONDITIONAL:
                conditions = []
            found = _action(command, self.home)
            if found is None:
                conditions += self._other(command)
                continue
            if command.expands or command.after == "||":
                raise CommandError(f"`{command}` depends on what the shell finds when it runs")
            # Behind `;` or a line break it runs whatever became of the others.
            if command.after == "&&" and conditions:
                raise CommandError(f"`{command}` runs only if `{conditions[-1]}` succeeds")
            # The policy acts on each target alone, and the user is warned of that.
            self.chained |= command.after == "&&" and bool(self.actions)
            self.actions.append(found)

    def _other(self, command: Command) -> list[str]:
        """Take a command that suspends nothing; return it where others may depend on it."""
        program, *words = command.words
        if program in _HARMLESS:
            return []
        # `kubectl get` changes nothing, and fails where there is nothing.
        if program not in ("flux", "kubectl") or not words or words[0] not in _READS:
            files = program.endswith("kubectl") and not _WRITES.isdisjoint(words)
            # The program may be a script or an alias, which the heuristics do not know by name; so
            # `flux`, which they do, is put before it.
            if files or heuristics.mentions(f"flux {command}"):
                raise CommandError(f"`{command}` is not supported")
            self.left_out.append(str(command))
        return [str(command)]


class _Flags(argparse.ArgumentParser):
    """The flags that change neither what is suspended nor where, but for the namespace."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("words", nargs="*")
        self.add_argument("-n", "--namespace")
        self.add_argument("-p", "--patch")
        self.add_argument("--type", default="strategic")
        self.add_argument("--timeout", "--field-manager", "--request-timeout", "-v")
        self.add_argument("-o", "--output")
        for flag in ("--all", "--wait", "--verbose", "--insecure-skip-tls-verify", "--no-header"):
            self.add_argument(flag, action="store_true")

    def error(self, message: str) -> NoReturn:
        raise CommandError(message)


_FLAGS = _Flags()


def _action(command: Command, home: str) -> Action | None:
    """Return what a command suspends or resumes, None where it does neither."""
    program = command.words[0].rpartition("/")[2]
    # As a word, so that a file or a label with it in its name is none.
    verbs = {"flux": {"suspend", "resume"}, "kubectl": {"patch"}}.get(program, set[str]())
    if verbs.isdisjoint(command.words):
        return None
    try:
        call = _FLAGS.parse_intermixed_args(command.words[1:])
        verb, *words = call.words or [""]
        if program == "kubectl":
            return _patch(verb, words, call, home)
        return _flux(verb, words, call)
    except CommandError as error:
        raise CommandError(f"`{command}`: {error}") from error


def _flux(verb: str, words: list[str], call: argparse.Namespace) -> Action | None:
    """Read `flux suspend KIND NAME…`, or with `--all` for the names."""
    if verb not in ("suspend", "resume"):
        return None
    # `source` and `image` have a second word for the kind.
    size = 2 if words[:1] in (["source"], ["image"]) else 1
    kind, names = " ".join(words[:size]), tuple(words[size:])
    if kind in _EVENTS:
        raise CommandError("it drops events instead of delaying them")
    row = gateable.find(_FLUX.get(kind, ""))
    if row is None:
        raise CommandError(f"unknown kind {kind!r}")
    # With both, or with neither, the Flux CLI prints an error.
    if bool(names) == call.all:
        raise CommandError("it needs either names or --all, so it always fails")
    return Action(verb == "suspend", row, names or None, call.namespace or FLUX_SYSTEM)


def _patch(verb: str, words: list[str], call: argparse.Namespace, home: str) -> Action | None:
    """Read `kubectl patch KIND NAME…`, or `kubectl patch KIND/NAME`."""
    # A flag with a value may be between them, so flags are taken out first.
    if verb != "patch" or not words:
        raise CommandError("it is not supported")
    kind, _, name = words[0].partition("/")
    names = [each.rpartition("/")[2] for each in (name, *words[1:]) if each]
    row = gateable.named(kind)
    if row is None:
        # A patch of labels or of another field is nobody's window.
        if call.patch is None or heuristics.mentions(f"kubectl {call.patch}"):
            raise CommandError(f"{kind} has no field that suspends it")
        return None
    suspends = _effect(call.patch or "", row.field[-1])
    if suspends is None:
        return None
    # The API server takes no strategic merge patches of custom resources.
    if call.type == "strategic" and row.group != "batch":
        raise CommandError(
            "it always fails: a custom resource does not support strategic merge patches, so "
            "--type=merge is needed"
        )
    if not names:
        raise CommandError("it names no object, so it always fails")
    return Action(suspends, row, tuple(names), call.namespace or home)


def _effect(content: str, field: str) -> bool | None:
    """Return whether a patch sets a field of `spec`, None where it leaves that alone.

    A field that is removed, or set to null, suspends no more (RFC 6902, RFC 7386). Raises
    CommandError for what does anything beside that, or is not in the command.
    """
    pointer = f"/spec/{field}"
    try:
        patch = value(parse(content))
    except InputError:
        patch = None
    found: object = None
    if isinstance(patch, dict):
        spec = patch.get("spec", {})
        if isinstance(spec, dict) and field not in spec:
            return None
        if isinstance(spec, dict) and len(patch) == len(spec) == 1:
            # Null takes it out.
            found = False if spec[field] is None else spec[field]
    elif isinstance(patch, list):
        match patch:
            case [{"op": "remove", "path": path}] if path == pointer:
                found = False
            case [{"op": "add" | "replace", "path": path, "value": given}] if path == pointer:
                found = given
            case _ if not any(_touches(each, pointer) for each in patch):
                return None
    if not isinstance(found, bool):
        raise CommandError(f"it patches another field than `spec.{field}`, or more than that")
    return found


def _touches(operation: Value, pointer: str) -> bool:
    """Whether an operation is about a field, or what that is in; `move` and `copy` may be."""
    if not isinstance(operation, dict) or "from" in operation:
        return True
    path = str(operation.get("path"))
    return pointer.startswith(path) or path.startswith(pointer)
