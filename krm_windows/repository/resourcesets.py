"""ResourceSets of the Flux Operator: the objects that it makes of `resources` for each of its static `inputs`.

Covered is what can be said without a cluster and without Go's templates: `<< inputs.x >>`, also of nested inputs, and
the functions that leave a scalar a scalar. Anything else is said, and never guessed: the cluster is incomplete then.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_windows.krm import InputError, KubeObject, Value, documents
from krm_windows.krm.nodes import value
from krm_windows.repository.model import Object
from krm_windows.repository.sources import OPERATOR

_TEMPLATE = re.compile(r"<<(.*?)>>", re.DOTALL)
_EXPRESSION = re.compile(r"\s*inputs((?:\.[A-Za-z_][A-Za-z0-9_]*)+)\s*(?:\|\s*([a-zA-Z]+)\s*)?")
# What a scalar may be without quotes and yet be nothing else in YAML.
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_RECONCILE = "fluxcd.controlplane.io/reconcile"
_DISABLED = "disabled"
# More than anybody writes, and less than a repository of somebody unknown may have us make.
MOST = 10_000


class UncoveredError(Exception):
    """What a ResourceSet comes to is not known here; the message says why."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The objects that are known, and why these are not all; no reason if they are."""

    objects: tuple[Object, ...]
    reasons: tuple[str, ...]


def is_one(item: Object) -> bool:
    """Whether an object is a ResourceSet."""
    return (item.group, item.kind) == (OPERATOR, "ResourceSet")


def expand(item: Object) -> Expansion:
    """Return what the operator makes of a ResourceSet, as far as that is known: later ones of equal names are none."""
    reasons: list[str] = []
    if item.note(_RECONCILE) == _DISABLED:
        return Expansion((), ("its annotation says that it is not reconciled",))
    found: dict[tuple[str, str, str, str], Object] = {}
    try:
        inputs = _inputs(item)
    except UncoveredError as error:
        return Expansion((), (str(error),))
    if item.get("spec", "inputsFrom"):
        reasons.append("`inputsFrom` takes more inputs from providers in the cluster")
    for part in (("spec",), *_steps(item)):
        for made in _made(item, part, inputs, reasons):
            found.setdefault(made.identity, made)
            if len(found) > MOST:
                return Expansion((), (f"it comes to more than {MOST} objects",))
    return Expansion(tuple(found.values()), tuple(dict.fromkeys(reasons)))


def _steps(item: Object) -> list[tuple[str | int, ...]]:
    return [("spec", "steps", index) for index, _ in enumerate(item.parts("spec", "steps"))]


def _inputs(item: Object) -> list[Mapping[str, Value] | None]:
    """Return the inputs, one that is None where there are none at all; raises UncoveredError."""
    if item.text("spec", "inputStrategy", "name") not in ("", "Flatten"):
        raise UncoveredError("`inputStrategy` is not Flatten")
    inputs = item.get("spec", "inputs")
    if not inputs:
        # Without static inputs everything that is made comes from the providers.
        return [] if item.get("spec", "inputsFrom") else [None]
    if not isinstance(inputs, list):
        raise UncoveredError("`inputs` is no list")
    return [each if isinstance(each, dict) else {} for each in inputs]


def _made(
    item: Object, part: tuple[str | int, ...], inputs: Sequence[Mapping[str, Value] | None], reasons: list[str]
) -> Iterator[Object]:
    """Yield the objects of `resources` and `resourcesTemplate` for each input; add to `reasons` what is not known."""
    templates: list[Value] = list(item.parts(*part, "resources"))
    text = item.text(*part, "resourcesTemplate")
    for each in inputs:
        try:
            contents = _documents(text, each) if text else []
        except UncoveredError as error:
            contents = []
            reasons.append(str(error))
        for template in templates:
            try:
                contents.append(_filled(template, each))
            except UncoveredError as error:
                reasons.append(str(error))
        yield from (made for content in contents if (made := _object(item, content, is_one_of_many=each is not None)))


def _object(item: Object, content: Value, *, is_one_of_many: bool) -> Object | None:
    """Return an object, None for one that its own annotation leaves out."""
    if not isinstance(content, dict):
        return None
    made = KubeObject.from_value(content)
    try:
        found = Object(made, made.api_version, made.kind, made.namespace, made.name, made_by=item)
    except InputError:
        return None
    if is_one_of_many and found.note(_RECONCILE) == _DISABLED:
        return None
    return found if found.kind and found.name else None


def _documents(text: str, inputs: Mapping[str, Value] | None) -> list[Value]:
    filled = _TEMPLATE.sub(lambda match: _scalar(match[1], inputs), text)
    try:
        return [value(item.node) for item in documents(filled.encode())]
    except InputError as error:
        raise UncoveredError(f"`resourcesTemplate` cannot be read: {error.message}") from error


def _filled(part: Value, inputs: Mapping[str, Value] | None) -> Value:
    """Return a part of a template with its inputs put in, which may make a number or a truth value of a text."""
    if isinstance(part, dict):
        return {str(_text(key, inputs)): _filled(entry, inputs) for key, entry in part.items()}
    if isinstance(part, list):
        return [_filled(entry, inputs) for entry in part]
    return _meant(part, inputs) if isinstance(part, str) and "<<" in part else part


def _text(text: str, inputs: Mapping[str, Value] | None) -> str:
    return _TEMPLATE.sub(lambda match: _scalar(match[1], inputs), text)


def _meant(text: str, inputs: Mapping[str, Value] | None) -> Value:
    """Return what a filled text means: the operator writes the template as YAML and reads it again."""
    filled = _text(text, inputs)
    if not _PLAIN.fullmatch(filled):
        return filled.strip('"') if filled.startswith('"') else filled
    return KubeObject.parse(f"meant: {filled}".encode()).get("meant")


def _scalar(expression: str, inputs: Mapping[str, Value] | None) -> str:
    """Return what an expression yields; raises UncoveredError for one that is more than a name of an input."""
    found = _EXPRESSION.fullmatch(expression)
    if found is None or (found[2] or "") not in _FUNCTIONS:
        raise UncoveredError(f"the template << {expression.strip()} >> is more than the name of an input")
    known: Value = dict(inputs) if inputs is not None else None
    for name in found[1].split(".")[1:]:
        known = known.get(name) if isinstance(known, dict) else None
    if known is None or isinstance(known, dict | list | float):
        raise UncoveredError(f"the template << {expression.strip()} >> names no input that is known as a text")
    text = str(known).lower() if isinstance(known, bool) else str(known)
    return _FUNCTIONS[found[2] or ""](text)


def _quoted(text: str) -> str:
    return json.dumps(text)


_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "": str,
    "quote": _quoted,
    "lower": str.lower,
    "upper": str.upper,
    "toString": str,
    "trim": str.strip,
}
