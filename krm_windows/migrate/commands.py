"""What commands suspend and resume: the Flux CLI 2.9 with its flags, and `kubectl patch`."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from krm_windows import gateable
from krm_windows.gateable import Gateable
from krm_windows.krm import InputError, parse, value
from krm_windows.migrate import heuristics
from krm_windows.migrate.shell import Command

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


def read(commands: Iterable[Command], home: str) -> tuple[list[Action], list[Command]]:
    """Return what the commands of a container in the namespace `home` do, in order.

    And those that neither suspend nor resume. Raises CommandError for what is not understood.
    """
    actions: list[Action] = []
    left_out: list[Command] = []
    # What may fail, so that the rest is not run (`&&`, `set -e`, `|| exit`), or not as meant.
    foreign: Command | None = None
    for command in commands:
        found = _action(command, home)
        if found is not None:
            if command.expands or command.after == "||":
                raise CommandError(f"`{command}` depends on what the shell finds when it runs")
            if foreign is not None:
                raise CommandError(f"`{command}` may run only if `{foreign}` succeeds")
            actions.append(found)
        elif command.words[0] not in _HARMLESS:
            foreign = command
            left_out += _left_out(command)
    return actions, left_out


def _left_out(command: Command) -> list[Command]:
    """Return a command that suspends nothing, unless it only reads."""
    program, *words = command.words
    # `kubectl get` changes nothing, and fails where there is nothing.
    if program in ("flux", "kubectl") and words and words[0] in _READS:
        return []
    # The program may be a script or an alias, which is not known by its name; so `flux`, which is,
    # is put before it.
    files = program.endswith("kubectl") and not _WRITES.isdisjoint(words)
    if files or heuristics.mentions(f"flux {command}"):
        raise CommandError(f"`{command}` is not supported")
    return [command]


class _Flags(argparse.ArgumentParser):
    """The flags that change neither what is suspended nor where, but for the namespace."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("words", nargs="*")
        self.add_argument("-n", "--namespace")
        self.add_argument("-p", "--patch", default="")
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
        match call.words:
            case ["suspend" | "resume" as verb, *words] if program == "flux":
                return _flux(verb, words, call)
            case ["patch", kind, *names] if program == "kubectl":
                return _patch(kind, names, call, home)
            case _:
                return _FLAGS.error("it is not supported")
    except CommandError as error:
        raise CommandError(f"`{command}`: {error}") from error


def _flux(verb: str, words: list[str], call: argparse.Namespace) -> Action:
    """Read `flux suspend KIND NAME…`, or with `--all` for the names."""
    # `source` and `image` have a second word for the kind.
    size = 2 if words[:1] in (["source"], ["image"]) else 1
    kind, names = " ".join(words[:size]), tuple(words[size:])
    row = gateable.find(_FLUX.get(kind, ""))
    if row is None:
        raise CommandError(f"no window can gate the kind {kind!r}")
    # With both, or with neither, the Flux CLI prints an error.
    if bool(names) == call.all:
        raise CommandError("it needs either names or --all, so it always fails")
    return Action(verb == "suspend", row, names or None, call.namespace or FLUX_SYSTEM)


def _patch(kind: str, names: list[str], call: argparse.Namespace, home: str) -> Action | None:
    """Read `kubectl patch KIND NAME…`, or `kubectl patch KIND/NAME`."""
    kind, _, name = kind.partition("/")
    names = [each.rpartition("/")[2] for each in (name, *names) if each]
    row = gateable.named(kind)
    if row is None:
        # A patch of labels or of another field is nobody's window.
        if not call.patch or heuristics.mentions(f"kubectl {call.patch}"):
            raise CommandError(f"{kind} has no field that suspends it")
        return None
    suspends = _effect(call.patch, row.field[-1])
    if suspends is None:
        return None
    # The API server takes no strategic merge patches of custom resources.
    if call.type == "strategic" and row.group != "batch":
        raise CommandError("it always fails: a custom resource needs --type=merge")
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
    match patch:
        case {"spec": dict(spec), **rest} if not rest and spec.keys() == {field}:
            # Null takes it out.
            found = False if spec[field] is None else spec[field]
        case [{"op": "remove", "path": path}] if path == pointer:
            found = False
        case [{"op": "add" | "replace", "path": path, "value": given}] if path == pointer:
            found = given
        case dict() | list() if field not in str(patch):
            return None
    if not isinstance(found, bool):
        raise CommandError(f"it patches another field than `spec.{field}`, or more than that")
    return found
