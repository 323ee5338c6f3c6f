"""What a command does to windows: `flux suspend`, `flux resume`, and patches of `spec.suspend` with kubectl.

Reference: the commands of the Flux CLI 2.9 (`flux suspend` and `flux resume` with their flags), and `kubectl patch`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from krm_windows import gateable
from krm_windows.gateable import Gateable
from krm_windows.krm import InputError, parse, value
from krm_windows.krm.nodes import Value
from krm_windows.migrate import shapes
from krm_windows.migrate.shell import Command

# The namespace that the Flux CLI takes where none is given.
FLUX_SYSTEM = "flux-system"

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
_SHORT = {
    "ks": "Kustomization",
    "hr": "HelmRelease",
    "gitrepo": "GitRepository",
    "ocirepo": "OCIRepository",
    "helmrepo": "HelmRepository",
    "hc": "HelmChart",
    "imgrepo": "ImageRepository",
    "imagerepo": "ImageRepository",
    "imgpol": "ImagePolicy",
    "imagepol": "ImagePolicy",
    "iua": "ImageUpdateAutomation",
    "imgupd": "ImageUpdateAutomation",
    "imgauto": "ImageUpdateAutomation",
    "cj": "CronJob",
}
_EVENTS = frozenset({"alert", "alert-provider", "receiver"})
_NAMESPACE = frozenset({"-n", "--namespace"})
# Flags that change neither what is suspended nor where; those with a value, and those without.
_WITH_VALUE = frozenset(
    {
        "--timeout",
        "--field-manager",
        "--request-timeout",
        "-v",
        "-o",
        "--output",
        "--type",
        "-p",
        "--patch",
    }
)
_PLAIN = frozenset({"--wait", "--verbose", "--all", "--insecure-skip-tls-verify", "--no-header"})
_HARMLESS = frozenset({"echo", "printf", "date", "true", ":", "set", "sleep", "exit"})
_WRITES = frozenset({"apply", "replace", "edit"})
_LOOKS = frozenset(
    {
        "get",
        "version",
        "check",
        "logs",
        "events",
        "stats",
        "tree",
        "wait",
        "describe",
        "--version",
        "trace",
    }
)


class CommandError(Exception):
    """A command that would change what a window gates, and is not understood."""


@dataclass(frozen=True, slots=True)
class Action:
    """Objects of one kind that a command suspends or resumes; `names` is None for all of the namespace."""

    suspends: bool
    row: Gateable
    names: tuple[str, ...] | None
    namespace: str


@dataclass(frozen=True, slots=True)
class Script:
    """What commands do: their actions, in order; whether one runs only if another did not fail; what is left out."""

    actions: tuple[Action, ...] = ()
    chained: bool = False
    left_out: tuple[str, ...] = ()


def read(commands: Iterable[Command], home: str) -> Script:
    """Read commands of a Pod in the namespace `home`; raises CommandError for what is not understood."""
    actions: list[Action] = []
    left_out: list[str] = []
    conditions: list[str] = []
    chained = False
    for command in commands:
        found = list(_actions(command, home))
        if command.after not in ("&&", "||"):
            conditions = []
        if found and (command.expands or command.after == "||"):
            raise CommandError(f"`{command}` depends on what the shell finds when it runs")
        if found and command.after == "&&":
            if conditions:
                raise CommandError(f"`{command}` runs only if `{conditions[-1]}` succeeds")
            chained = chained or bool(actions)
        if not found:
            if _may_turn(command) and not _is_harmless(command):
                raise CommandError(f"`{command}` is not understood")
            left_out += [] if _is_harmless(command) else [str(command)]
            conditions += [] if command.words[0] in _HARMLESS else [str(command)]
        actions += found
    return Script(tuple(actions), chained, tuple(left_out))


def _is_harmless(command: Command) -> bool:
    program, *words = command.words
    looks = program in ("flux", "kubectl") and bool(words) and words[0] in _LOOKS
    return program in _HARMLESS or looks


def _may_turn(command: Command) -> bool:
    """Whether a command that is not understood may suspend or resume: by its words, or by a file that it writes."""
    program = command.words[0].rpartition("/")[2]
    writes = program == "kubectl" and not _WRITES.isdisjoint(command.words)
    return writes or shapes.mentions(f"flux {command}")


def _actions(command: Command, home: str) -> Iterator[Action]:
    program, *words = command.words
    if program.rpartition("/")[2] == "flux" and ("suspend" in words or "resume" in words):
        yield from _flux(_call(words, command), command)
    elif program.rpartition("/")[2] == "kubectl" and "patch" in words:
        found = _kubectl(words, command, home)
        yield from [found] if found else []


@dataclass(frozen=True, slots=True)
class _Call:
    """Words of a command that are no flags, and its flags."""

    words: tuple[str, ...]
    flags: dict[str, str]

    @property
    def namespace(self) -> str | None:
        return next((value for flag, value in self.flags.items() if flag in _NAMESPACE), None)


def _call(words: Iterable[str], command: Command) -> _Call:
    plain: list[str] = []
    flags: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        flag, equal, given = word.partition("=")
        if not word.startswith("-") or word == "-":
            plain.append(word)
        elif flag in _NAMESPACE | _WITH_VALUE:
            flags[flag] = given if equal else next(rest, "")
        elif flag in _PLAIN:
            flags[flag] = given or "true"
        elif word.startswith("-n"):
            flags["-n"] = word[2:]
        else:
            raise CommandError(f"`{command}` has the flag {flag}, which changes where it acts")
    return _Call(tuple(plain), flags)


def _flux(call: _Call, command: Command) -> Iterator[Action]:
    verb, kind, *names = (*call.words, "", "")[: max(len(call.words), 2)]
    if verb not in ("suspend", "resume"):
        return
    if kind in ("source", "image") and names:
        kind, names = f"{kind} {names[0]}", names[1:]
    if kind in _EVENTS:
        raise CommandError(f"`{command}` drops events, it holds nothing back")
    row = gateable.find(_FLUX.get(kind, ""))
    if row is None:
        raise CommandError(f"`{command}`: there is no kind {kind!r}")
    everything = call.flags.get("--all") == "true"
    if bool(names) == everything:
        raise CommandError(f"`{command}` needs either names or --all, and fails as it stands")
    yield Action(
        verb == "suspend", row, None if everything else tuple(names), call.namespace or FLUX_SYSTEM
    )


def _kubectl(words: list[str], command: Command, home: str) -> Action | None:
    call = _call(words, command)
    content = call.flags.get("-p", call.flags.get("--patch"))
    if call.words[:1] != ("patch",) or len(call.words) < 2:  # noqa: PLR2004 - `patch` and a kind
        raise CommandError(f"`{command}` is not understood")
    kind, _, first = call.words[1].partition("/")
    names = [first, *call.words[2:]] if first else list(call.words[2:])
    names = [name.rpartition("/")[2] for name in names]
    row = _row(kind)
    if row is None and content is not None and not shapes.mentions(f"kubectl {content}"):
        return None
    suspends = _suspends(content or "", row.field) if row else None
    if suspends is None or row is None:
        if row and content is not None and _leaves_alone(content, row.field):
            return None
        raise CommandError(
            f"`{command}` patches something else than the field by which {kind} is suspended"
        )
    if call.flags.get("--type", "strategic") == "strategic" and row.group != "batch":
        raise CommandError(
            f"`{command}` always fails: a custom resource takes no strategic patch, so --type=merge is needed"
        )
    if not names:
        raise CommandError(f"`{command}` names no object, and fails as it stands")
    return Action(suspends, row, tuple(names), call.namespace or home)


def _row(word: str) -> Gateable | None:
    resource, _, group = word.lower().partition(".")
    group = group.partition(".")[2] if group.startswith(("v1", "v2")) else group
    for row in gateable.TABLE:
        known = (row.resource, row.kind.lower())
        if (resource in known or _SHORT.get(resource) == row.kind) and group in ("", row.group):
            return row
    return None


def _suspends(content: str, field: tuple[str, ...]) -> bool | None:
    """Return what a patch sets the field of the suspension to, None where it does anything else.

    A field that is removed, or set to null, suspends no more (RFC 6902, RFC 7386).
    """
    try:
        patch = value(parse(content))
    except InputError:
        return None
    found = _of_operations(patch, field) if isinstance(patch, list) else _of_merge(patch, field)
    return found if isinstance(found, bool) else None


def _leaves_alone(content: str, field: tuple[str, ...]) -> bool:
    """Whether a patch is understood so far that it does not touch a field."""
    try:
        patch = value(parse(content))
    except InputError:
        return False
    if isinstance(patch, dict):
        spec = patch.get(field[0], {})
        return isinstance(spec, dict) and field[1] not in spec
    if not isinstance(patch, list):
        return False
    return not any(_touches(operation, "/" + "/".join(field)) for operation in patch)


def _touches(operation: Value, field: str) -> bool:
    if not isinstance(operation, dict) or "from" in operation:
        return True
    path = str(operation.get("path"))
    return f"{field}/".startswith(f"{path}/") or path.startswith(f"{field}/")


def _of_merge(patch: Value, field: tuple[str, ...]) -> Value:
    for step in field:
        if not isinstance(patch, dict) or list(patch) != [step]:
            return None
        patch = patch[step]
    return False if patch is None else patch


def _of_operations(patch: list[Value], field: tuple[str, ...]) -> Value:
    operation = patch[0] if len(patch) == 1 else None
    if not isinstance(operation, dict) or operation.get("path") != "/" + "/".join(field):
        return None
    if operation.get("op") == "remove":
        return False
    return operation.get("value") if operation.get("op") in ("add", "replace") else None
