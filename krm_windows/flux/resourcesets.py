"""ResourceSets of the Flux Operator.

The objects that it makes of `resources` for each of its static `inputs`. Covered is what can be
said without a cluster and without Go's templates: `<< inputs.x >>`, also of nested inputs, and in
quotes (`<< inputs.x | quote >>`). Anything else is said, and never guessed: the cluster is
incomplete then.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from krm_windows.flux.model import Identity, Object
from krm_windows.flux.sources import OPERATOR
from krm_windows.krm import InputError, KubeObject, Value

# The delimiters leave `{{ }}` free for what is made.
_EXPRESSION = re.compile(r"<<\s*inputs((?:\.[A-Za-z_][A-Za-z0-9_]*)+)\s*(\|\s*quote\s*)?>>")
# What a scalar may be without quotes and yet be nothing else in YAML.
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_RECONCILE = "fluxcd.controlplane.io/reconcile"
_DISABLED = "disabled"
# Fields by which more is made, or otherwise, than of the inputs and resources that are written.
_UNCOVERED = ("inputsFrom", "inputStrategy", "resourcesTemplate", "steps")
# More than anybody writes, and no more than a repository of somebody unknown may have us make of a
# few lines.
LARGEST = 4_000_000
# So much of a template is quoted in a message.
_SHOWN = 80


class UncoveredError(Exception):
    """What a template comes to is not known here; the message says why."""


class ExceededError(Exception):
    """What a ResourceSet comes to is more than any cluster takes."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The objects that are known, and why these are not all; no reason if they are."""

    objects: tuple[Object, ...]
    reasons: tuple[str, ...]


def is_one(item: Object) -> bool:
    """Whether an object is a ResourceSet."""
    return (item.group, item.kind) == (OPERATOR, "ResourceSet")


def expand(item: Object) -> Expansion:
    """Return what the operator makes of a ResourceSet, as far as that is known.

    Of objects with one name the first counts.
    """
    if item.note(_RECONCILE) == _DISABLED:
        return Expansion((), ("its annotation disables reconciliation",))
    reasons = [f"`{name}` is not followed" for name in _UNCOVERED if item.get("spec", name)]
    # How these combine the inputs is not worked out.
    if item.get("spec", "inputStrategy"):
        return Expansion((), tuple(reasons))
    inputs: list[Mapping[str, Value] | None] = [*item.parts("spec", "inputs")]
    # Without any, everything is made once, unless providers in the cluster have some.
    if not inputs and not item.get("spec", "inputsFrom"):
        inputs = [None]
    found: dict[Identity, Object] = {}
    templates = _Templates()
    try:
        for each in inputs:
            for template in item.parts("spec", "resources"):
                try:
                    made = _object(item, templates.filled(template, each or {}))
                except UncoveredError as error:
                    reasons.append(str(error))
                    continue
                if made and not (each and made.note(_RECONCILE) == _DISABLED):
                    found.setdefault(made.identity, made)
    except ExceededError as error:
        # A part of it would be as wrong as all of it is large.
        return Expansion((), (str(error),))
    return Expansion(tuple(found.values()), tuple(dict.fromkeys(reasons)))


def _object(item: Object, content: Value) -> Object | None:
    """Return an object that is made; None where a template makes none."""
    try:
        found = Object.of(KubeObject.from_value(content), made_by=item)
    except InputError:
        return None
    return found if found.kind and found.name else None


class _Templates:
    """Puts inputs into the templates of one ResourceSet, as long as that does not come to much."""

    def __init__(self) -> None:
        self._left = LARGEST

    def filled(self, part: Value, inputs: Mapping[str, Value]) -> Value:
        """Return a part of a template with its inputs put in; raises UncoveredError."""
        self._spend(1)
        if isinstance(part, dict):
            filled: dict[str, Value] = {}
            for key, entry in part.items():
                filled[self._text(key, inputs)] = self.filled(entry, inputs)
            return filled
        if isinstance(part, list):
            return [self.filled(entry, inputs) for entry in part]
        if not isinstance(part, str):
            return part
        text = self._text(part, inputs)
        whole = _EXPRESSION.fullmatch(part)
        # The operator writes it as YAML and reads it again: `3` and `true` are a number and a truth
        # value then.
        if whole and not whole[2] and _PLAIN.fullmatch(text):
            return KubeObject.parse(f"meant: {text}".encode()).get("meant")
        return text

    def _text(self, text: str, inputs: Mapping[str, Value]) -> str:
        """Return a text with its inputs put in."""
        self._spend(len(text))
        parts = []
        end = 0
        for match in _EXPRESSION.finditer(text):
            # Quotes in the middle of a text are a part of it.
            if match[2] and match[0] != text:
                raise _uncovered(match[0])
            meant = _known(inputs, match)
            # An input may be long, and a template may repeat it as often as it likes.
            self._spend(len(meant))
            parts += [text[end : match.start()], meant]
            end = match.end()
        rest = text[end:]
        filled = "".join([*parts, rest])
        if "<<" in "".join([*parts[::2], rest]):
            raise _uncovered(text)
        return filled

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ExceededError(f"it expands to more than {LARGEST} characters")


def _known(inputs: Mapping[str, Value], match: re.Match[str]) -> str:
    """Return an input as Go writes it.

    Raises UncoveredError: how Go writes a number with a fraction is not worked out.
    """
    found: Value = dict(inputs)
    # `.tenant.name`: the first step is empty.
    for name in match[1].split(".")[1:]:
        found = found.get(name) if isinstance(found, dict) else None
    # `True` of Python is `true` of Go; a bool is an int, too, so it comes first.
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, str | int):
        return str(found)
    raise UncoveredError(f"the template {match[0][:_SHOWN]} names no known string input")


def _uncovered(template: str) -> UncoveredError:
    return UncoveredError(f"the template {template[:_SHOWN]} is more than the name of an input")
