"""What a command does to windows.

That are `flux suspend`, `flux resume`, and patches of `spec.suspend` with kubectl. Reference: the
commands of the Flux CLI 2.9 with their flags, and `kubectl patch`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from krm_windows import gateable
from krm_windows.gateable import Gateable
from krm_windows.krm import InputError, parse, value
from krm_windows.krm.nodes import Value
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
# What `flux suspend` takes as well, and what only drops events while it is suspended.
_EVENTS = frozenset({"alert", "alert-provider", "receiver"})
_NAMESPACE = ("-n", "--namespace")
# Flags that change neither what is suspended nor where; those with a value, and those without.
_OTHER_WITH_VALUE = (
    "--timeout",
    "--field-manager",
    "--request-timeout",
    "-v",
    "-o",
    "--output",
    "--type",
    "-p",
    "--patch",
)
_WITH_VALUE = frozenset({*_NAMESPACE, *_OTHER_WITH_VALUE})
_PLAIN = frozenset({"--wait", "--verbose", "--all", "--insecure-skip-tls-verify", "--no-header"})
# Programs that change nothing in the cluster, and do not fail.
_HARMLESS = frozenset({"echo", "printf", "date", "true", ":", "set", "sleep", "exit"})
# What kubectl does with a file that is not looked into.
_WRITES = frozenset({"apply", "replace", "edit"})
# What flux or kubectl only read with.
_READS = frozenset(
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
# Operators behind which a command runs, or not, by what those before it came to.
_CONDITIONAL = ("&&", "||")


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


@dataclass(frozen=True, slots=True)
class Script:
    """What commands do."""

    actions: tuple[Action, ...] = ()
    """In order."""

    chained: bool = False
    """Whether one runs only if another did not fail."""

    left_out: tuple[str, ...] = ()
    """Commands that neither suspend nor resume."""


@dataclass
class _Reader:
    """Reads the commands of a Pod in the namespace `home`, one after the other."""

    home: str
    actions: list[Action] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    conditions: list[str] = field(default_factory=list)
    """What the next command of the same list depends on, if it is behind `&&`."""

    chained: bool = False

    def take(self, command: Command) -> None:
        """Read the next command; raises CommandError for what is not understood."""
        if command.after not in _CONDITIONAL:
            self.conditions = []
        found = list(_actions(command, self.home))
        if not found:
            self._take_other(command)
            return
        self._check(command)
        self.actions += found

    def _check(self, command: Command) -> None:
        """Refuse a command that suspends or resumes where nobody can say whether it runs."""
        if command.expands or command.after == "||":
            raise CommandError(f"`{command}` depends on what the shell finds when it runs")
        # Behind `;` or a line break it runs whatever became of the others.
        if command.after != "&&":
            return
        if self.conditions:
            raise CommandError(f"`{command}` runs only if `{self.conditions[-1]}` succeeds")
        # Behind `&&` of another action: the policy acts on each target alone, and the user is
        # warned of that.
        if self.actions:
            self.chained = True

    def _take_other(self, command: Command) -> None:
        """Take a command that neither suspends nor resumes anything."""
        harmless = _is_harmless(command)
        if not harmless and _may_suspend(command):
            raise CommandError(f"`{command}` is not supported")
        if not harmless:
            self.left_out.append(str(command))
        # `kubectl get` is harmless, and fails where there is nothing.
        if command.words[0] not in _HARMLESS:
            self.conditions.append(str(command))


def read(commands: Iterable[Command], home: str) -> Script:
    """Read commands of a Pod in the namespace `home`.

    Raises CommandError for what is not understood.
    """
    reader = _Reader(home)
    for command in commands:
        reader.take(command)
    return Script(tuple(reader.actions), reader.chained, tuple(reader.left_out))


def _is_harmless(command: Command) -> bool:
    program, *words = command.words
    if program in _HARMLESS:
        return True
    return program in ("flux", "kubectl") and bool(words) and words[0] in _READS


def _may_suspend(command: Command) -> bool:
    """Whether a command that is not understood may suspend or resume.

    It says so by its words, or kubectl is given a file that may.
    """
    if _name(command.words[0]) == "kubectl" and not _WRITES.isdisjoint(command.words):
        return True
    # The program may be a script or an alias, which the heuristics do not know by name; so `flux`,
    # which they do, is put before it.
    return heuristics.mentions(f"flux {command}")


def _name(path: str) -> str:
    """Return the name of a program, or of an object: `/usr/bin/flux`, `kustomization/apps`."""
    return path.rpartition("/")[2]


def _actions(command: Command, home: str) -> Iterator[Action]:
    program, *words = command.words
    match _name(program):
        # As a word, so that a file or a label with it in its name is none.
        case "flux" if "suspend" in words or "resume" in words:
            yield from _flux(_call(words, command), command)
        case "kubectl" if "patch" in words:
            yield from _kubectl(_call(words, command), command, home)


@dataclass(frozen=True, slots=True)
class _Call:
    """Words of a command that are no flags, and its flags."""

    words: tuple[str, ...]
    flags: dict[str, str]

    @property
    def namespace(self) -> str | None:
        """The namespace that it names, None where it names none."""
        for flag, given in self.flags.items():
            if flag in _NAMESPACE:
                return given
        return None

    @property
    def patch(self) -> str | None:
        """The patch that it is given, None where there is none."""
        # The last of two would win, but nobody writes both.
        return self.flags.get("-p", self.flags.get("--patch"))

    @property
    def is_strategic(self) -> bool:
        """Whether the patch is a strategic merge patch, which is what kubectl takes it for."""
        return self.flags.get("--type", "strategic") == "strategic"


def _call(words: Iterable[str], command: Command) -> _Call:
    """Separate flags from words, as the Flux CLI and kubectl do (pflag)."""
    plain: list[str] = []
    flags: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        flag, equal, given = word.partition("=")
        if not word.startswith("-") or word == "-":
            plain.append(word)
        elif flag in _WITH_VALUE and equal:
            flags[flag] = given
        elif flag in _WITH_VALUE:
            flags[flag] = next(rest, "")
        elif flag in _PLAIN:
            flags[flag] = given or "true"
        # pflag takes a short flag and its value as one word: `-nflux-system`.
        elif word.startswith("-n"):
            flags["-n"] = word[2:]
        else:
            raise CommandError(f"`{command}` has the flag {flag}, which changes where it acts")
    return _Call(tuple(plain), flags)


def _flux(call: _Call, command: Command) -> Iterator[Action]:
    """Read `flux suspend KIND NAME…`, or with `--all` for the names."""
    verb, *words = call.words or ("",)
    if verb not in ("suspend", "resume"):
        return
    kind = _flux_kind(words)
    if kind in _EVENTS:
        raise CommandError(f"`{command}` drops events instead of delaying them")
    row = gateable.find(_FLUX.get(kind, ""))
    if row is None:
        raise CommandError(f"`{command}`: unknown kind {kind!r}")
    everything = call.flags.get("--all") == "true"
    # With both, or with neither, the Flux CLI prints an error.
    if bool(words) == everything:
        raise CommandError(f"`{command}` needs either names or --all, so it always fails")
    names = None
    if words:
        names = tuple(words)
    yield Action(verb == "suspend", row, names, call.namespace or FLUX_SYSTEM)


def _flux_kind(words: list[str]) -> str:
    """Take the kind from some words; `source` and `image` have a second word for it."""
    if not words:
        return ""
    kind = words.pop(0)
    if kind in ("source", "image") and words:
        return f"{kind} {words.pop(0)}"
    return kind


def _kubectl(
    call: _Call,
    command: Command,
    home: str,
) -> Iterator[Action]:
    """Read `kubectl patch KIND NAME`, or `kubectl patch KIND/NAME`."""
    # A flag with a value may be between them, so flags are taken out first.
    if call.words[:1] != ("patch",) or not call.words[1:]:
        raise CommandError(f"`{command}` is not supported")
    kind, _, name = call.words[1].partition("/")
    names = [_name(word) for word in call.words[2:]]
    if name:
        names.insert(0, _name(name))
    row = gateable.named(kind)
    if row is None:
        _check_other(kind, call.patch, command)
        return
    suspends = _sets(row, kind, call.patch, command)
    if suspends is None:
        return
    _check_runs(call, row, names, command)
    yield Action(suspends, row, tuple(names), call.namespace or home)


def _check_runs(
    call: _Call,
    row: Gateable,
    names: list[str],
    command: Command,
) -> None:
    """Refuse a patch that kubectl or the API server refuses whenever it runs."""
    # The API server takes no strategic merge patches of custom resources.
    if call.is_strategic and row.group != "batch":
        raise CommandError(
            f"`{command}` always fails: a custom resource does not support strategic merge "
            "patches, so --type=merge is needed"
        )
    if not names:
        raise CommandError(f"`{command}` names no object, so it always fails")


def _sets(
    row: Gateable,
    kind: str,
    content: str | None,
    command: Command,
) -> bool | None:
    """Return whether a patch suspends or resumes, None where it does neither.

    Raises CommandError where it may do so and is not understood.
    """
    effect = _Effect.UNKNOWN
    if content is not None:
        effect = _effect(content, row.field)
    if effect is _Effect.UNKNOWN:
        # A file (`--patch-file`) is not read, so what it does is not known.
        raise _not_the_field(kind, command)
    if effect is _Effect.NONE:
        return None
    return effect is _Effect.SUSPENDS


def _check_other(
    kind: str,
    content: str | None,
    command: Command,
) -> None:
    """Refuse a patch of a kind that cannot be suspended if it speaks of suspending all the same."""
    # A patch of labels or of another field is nobody's window.
    if content is None or heuristics.mentions(f"kubectl {content}"):
        raise _not_the_field(kind, command)


def _not_the_field(kind: str, command: Command) -> CommandError:
    return CommandError(f"`{command}` patches another field than the one that suspends {kind}")


class _Effect(Enum):
    """What a patch does to the field of the suspension."""

    SUSPENDS = "suspends"
    RESUMES = "resumes"
    NONE = "does not change it"
    UNKNOWN = "is not supported"


def _effect(content: str, field: tuple[str, ...]) -> _Effect:
    """Return what a patch does to the field of the suspension.

    A field that is removed, or set to null, suspends no more (RFC 6902, RFC 7386). What does
    anything beside that is not understood.
    """
    try:
        patch = value(parse(content))
    except InputError:
        return _Effect.UNKNOWN
    match patch:
        case dict():
            found = _of_merge(patch, field)
        case list():
            found = _of_operations(patch, field)
        case _:
            return _Effect.UNKNOWN
    if found is True:
        return _Effect.SUSPENDS
    if found is False:
        return _Effect.RESUMES
    if _leaves_alone(patch, field):
        return _Effect.NONE
    return _Effect.UNKNOWN


def _leaves_alone(patch: dict[str, Value] | list[Value], field: tuple[str, ...]) -> bool:
    """Whether a patch does not touch a field."""
    if isinstance(patch, dict):
        spec = patch.get(field[0], {})
        if not isinstance(spec, dict):
            return False
        return field[1] not in spec
    pointer = _pointer(field)
    return not any(_touches(operation, pointer) for operation in patch)


def _pointer(field: tuple[str, ...]) -> str:
    """Return the path of a field as JSON patches have it (RFC 6901)."""
    return "/" + "/".join(field)


def _touches(operation: Value, pointer: str) -> bool:
    """Whether an operation is about a field, what it is in, or what is in it."""
    # `move` and `copy` have a source, too, which may be the field.
    if not isinstance(operation, dict) or "from" in operation:
        return True
    path = str(operation.get("path"))
    # With a slash at the end `/spec/suspend` is in `/spec`, and `/spec/suspended` is another field.
    return f"{pointer}/".startswith(f"{path}/") or path.startswith(f"{pointer}/")


def _of_merge(patch: Value, field: tuple[str, ...]) -> Value:
    """Return what a merge patch sets a field to, if it sets nothing else."""
    for step in field:
        if not isinstance(patch, dict) or list(patch) != [step]:
            return None
        patch = patch[step]
    if patch is None:
        return False
    return patch


def _of_operations(patch: list[Value], field: tuple[str, ...]) -> Value:
    """Return what a JSON patch sets a field to, if it is its only operation."""
    if len(patch) != 1:
        return None
    match patch[0]:
        case {"path": path} if path != _pointer(field):
            return None
        case {"path": _, "op": "remove"}:
            return False
        case {"path": _, "op": "add" | "replace", "value": found}:
            return found
    return None
