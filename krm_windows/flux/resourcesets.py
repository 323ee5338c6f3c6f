"""ResourceSets of the Flux Operator.

The objects that it makes of `resources` for each of its static `inputs`. Covered is what can be
said without a cluster and without Go's templates: `<< inputs.x >>`, also of nested inputs, and the
functions that leave a scalar a scalar. Anything else is said, and never guessed: the cluster is
incomplete then.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from krm_windows.flux.model import Identity, Object
from krm_windows.flux.sources import OPERATOR
from krm_windows.krm import InputError, KubeObject, Value, documents, plain_json
from krm_windows.krm.nodes import value

# The delimiters that the operator takes, so that `{{ }}` is free for what it makes.
_OPENS = "<<"
_CLOSES = ">>"
# `inputs.tenant.name | quote`: the path of an input, and at most one function.
_EXPRESSION = re.compile(r"\s*inputs((?:\.[A-Za-z_][A-Za-z0-9_]*)+)\s*(?:\|\s*([a-zA-Z]+)\s*)?")
# What a scalar may be without quotes and yet be nothing else in YAML.
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_RECONCILE = "fluxcd.controlplane.io/reconcile"
_DISABLED = "disabled"
# More than anybody writes, and no more than a repository of somebody unknown may have us make of a
# few lines.
LARGEST = 4_000_000
# So much of a template is quoted in a message.
_SHOWN = 80

Inputs: TypeAlias = Mapping[str, Value] | None


class UncoveredError(Exception):
    """What a ResourceSet comes to is not known here; the message says why."""


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
    making = _Making(item)
    try:
        inputs = _inputs(item)
        if item.get("spec", "inputsFrom"):
            making.reasons.append("`inputsFrom` adds inputs from providers in the cluster")
        # The resources at the top are made before those of the steps.
        for part in (("spec",), *_steps(item)):
            for each in inputs:
                making.make(part, each)
    except UncoveredError as error:
        making.reasons.append(str(error))
    except ExceededError as error:
        # A part of it would be as wrong as all of it is large.
        return Expansion((), (str(error),))
    return Expansion(tuple(making.found.values()), tuple(dict.fromkeys(making.reasons)))


def _steps(item: Object) -> list[tuple[str | int, ...]]:
    return [("spec", "steps", index) for index, _ in enumerate(item.parts("spec", "steps"))]


def _inputs(item: Object) -> list[Inputs]:
    """Return the inputs, one that is None where there are none at all; raises UncoveredError."""
    if item.text("spec", "inputStrategy", "name") not in ("", "Flatten"):
        raise UncoveredError("`inputStrategy` is not Flatten")
    inputs = item.get("spec", "inputs")
    if not inputs:
        # Everything that is made comes from the providers.
        if item.get("spec", "inputsFrom"):
            return []
        return [None]
    if not isinstance(inputs, list):
        raise UncoveredError("`inputs` is not a list")
    return [each if isinstance(each, dict) else {} for each in inputs]


class _Making:
    """What is made of one ResourceSet.

    That are objects by identity, and the reasons why these are not all.
    """

    def __init__(self, item: Object) -> None:
        self.item = item
        self.found: dict[Identity, Object] = {}
        self.reasons: list[str] = []
        self._left = LARGEST

    def make(self, part: tuple[str | int, ...], inputs: Inputs) -> None:
        """Make the objects of `resources` and `resourcesTemplate` for one of the inputs."""
        contents: list[Value] = []
        for template in self.item.parts(*part, "resources"):
            try:
                contents.append(self._filled(template, inputs))
            except UncoveredError as error:
                self.reasons.append(str(error))
        text = self.item.text(*part, "resourcesTemplate")
        if text:
            try:
                contents += self._documents(text, inputs)
            except UncoveredError as error:
                self.reasons.append(str(error))
        # Without inputs everything is made once, annotation or not.
        for content in contents:
            self._add(content, is_one_of_many=inputs is not None)

    def _add(self, content: Value, *, is_one_of_many: bool) -> None:
        """Add an object.

        One that its own annotation leaves out is not added, nor one that is there already.
        """
        if not isinstance(content, dict):
            return
        made = KubeObject.from_value(content)
        try:
            found = Object.of(made, made_by=self.item)
        except InputError:
            # What a template makes need not be an object at all.
            return
        if is_one_of_many and found.note(_RECONCILE) == _DISABLED:
            return
        if found.kind and found.name:
            self.found.setdefault(found.identity, found)

    def _documents(self, text: str, inputs: Inputs) -> list[Value]:
        filled = self._text(text, inputs)
        try:
            return [value(item.node) for item in documents(filled.encode())]
        except InputError as error:
            raise UncoveredError(f"`resourcesTemplate` cannot be read: {error.message}") from error

    def _filled(self, part: Value, inputs: Inputs) -> Value:
        """Return a part of a template with its inputs put in.

        That may make a number or a truth value of a text.
        """
        self._spend(1)
        if isinstance(part, dict):
            filled: dict[str, Value] = {}
            for key, entry in part.items():
                filled[self._text(key, inputs)] = self._filled(entry, inputs)
            return filled
        if isinstance(part, list):
            return [self._filled(entry, inputs) for entry in part]
        if isinstance(part, str) and _OPENS in part:
            return self._meant(part, inputs)
        return part

    def _meant(self, text: str, inputs: Inputs) -> Value:
        """Return what a filled text means.

        The operator writes the template as YAML and reads it again.
        """
        filled = self._text(text, inputs)
        # `3` and `true` are a number and a truth value again, once they are read.
        if _PLAIN.fullmatch(filled):
            return KubeObject.parse(f"meant: {filled}".encode()).get("meant")
        # Whatever begins otherwise the operator writes in quotes of its own, and so it is text.
        if not text.startswith(_OPENS):
            return filled
        return _unquoted(filled)

    def _text(self, text: str, inputs: Inputs) -> str:
        """Return a text with its inputs put in.

        Raises ExceededError where all of them come to too much.
        """
        parts: list[str] = []
        place = 0
        begin = text.find(_OPENS)
        while begin >= 0:
            end = text.find(_CLOSES, begin)
            if end < 0:
                raise UncoveredError(f"the template {text[begin : begin + _SHOWN]} is not closed")
            expression = text[begin + len(_OPENS) : end]
            meant = _scalar(expression, inputs)
            # An input may be long, and a template may repeat it as often as it likes.
            self._spend(len(meant))
            parts += [text[place:begin], meant]
            place = end + len(_CLOSES)
            begin = text.find(_OPENS, place)
        self._spend(len(text))
        return "".join([*parts, text[place:]])

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ExceededError(f"it expands to more than {LARGEST} characters")


def _scalar(expression: str, inputs: Inputs) -> str:
    """Return what an expression yields.

    Raises UncoveredError for one that is more than a name of an input.
    """
    found = _EXPRESSION.fullmatch(expression)
    shown = f"<< {expression.strip()[:_SHOWN]} >>"
    if found is None:
        raise UncoveredError(f"the template {shown} is more than the name of an input")
    function = _FUNCTIONS.get(found[2] or "")
    if function is None:
        raise UncoveredError(f"the template {shown} is more than the name of an input")
    # `.tenant.name`: the first step is empty.
    text = _known(inputs, found[1].split(".")[1:])
    if text is None:
        raise UncoveredError(f"the template {shown} names no known string input")
    return function(text)


def _known(inputs: Inputs, path: Sequence[str]) -> str | None:
    """Return an input as Go writes it, None where it is not known here.

    How Go writes a number with a fraction is not worked out.
    """
    found: Value = None
    if inputs is not None:
        found = dict(inputs)
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    # `True` of Python is `true` of Go; a bool is an int, too, so it comes first.
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, str | int):
        return str(found)
    return None


def _unquoted(text: str) -> str:
    """Return the text that a quoted one means; any other as it is."""
    try:
        meant = plain_json.read(text)
    except (ValueError, InputError):
        return text
    if isinstance(meant, str):
        return meant
    return text


_FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "": str,
    "quote": json.dumps,
    "lower": str.lower,
    "upper": str.upper,
    "toString": str,
    "trim": str.strip,
}
