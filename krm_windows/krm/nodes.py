"""Nodes: a YAML document as a tree of text leaves, each with its place, and what those leaves mean.

Nothing is converted on reading. `value` gives the meaning of a leaf by the core schema of YAML 1.2
(https://yaml.org/spec/1.2.2/#103-core-schema), in which `on`, `y`, `22:00` and `=` are strings;
whoever needs the text as it was written takes `Scalar.text`.
"""

import math
import re
from typing import NamedTuple, TypeAlias

from krm_windows.krm.errors import InputError

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"


class Scalar(NamedTuple):
    """A leaf: its text, whether it is plain (not quoted, no block), its tag.

    Line and column count from 1, `start` and `end` are places in the text, from its tag or anchor
    to its last character; those of an alias are its own. `style` is one of `"`, `'`, `|`, `>` or
    empty. `size` is how many nodes it counts for: a long text is as much as many.
    """

    text: str
    plain: bool = True
    tag: str | None = None
    line: int = 0
    column: int = 0
    start: int = 0
    end: int = 0
    style: str = ""
    size: int = 1
    flow: bool = False


class Mapping(NamedTuple):
    """Keys and values in their order; a key written twice is there twice, and `find` refuses it.

    The last of the entries are those that merge keys brought in: so many are `inherited`. `size` is
    how many nodes it has, those of aliases counted, and `height` how many collections are inside
    each other.
    """

    entries: tuple[tuple[Scalar, "Node"], ...] = ()
    line: int = 0
    column: int = 0
    start: int = 0
    end: int = 0
    flow: bool = False
    size: int = 1
    height: int = 1
    inherited: int = 0

    @property
    def own(self) -> tuple[tuple[Scalar, "Node"], ...]:
        """The entries that are written here."""
        return self.entries[: len(self.entries) - self.inherited]

    def find(self, key: str) -> "Node | None":
        """Give the value under `key`; raises InputError if the key is there twice."""
        found = [(name, node) for name, node in self.entries if name.text == key]
        if len(found) > 1:
            raise _duplicate(found[1][0])
        if found:
            return found[0][1]
        return None


class Sequence(NamedTuple):
    """Nodes in their order."""

    items: tuple["Node", ...] = ()
    line: int = 0
    column: int = 0
    start: int = 0
    end: int = 0
    flow: bool = False
    size: int = 1
    height: int = 1


Node: TypeAlias = Scalar | Mapping | Sequence

# Python refuses to read longer integers; they are no numbers to anybody else either.
_DIGITS = 4000
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
# The core schema has these spellings and no others: `yes` and `on` are strings.
_BOOL = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INT = re.compile(r"[-+]?[0-9]+\Z")
# `0o14` and `0x1f`; `014` is 14 in YAML 1.2, where YAML 1.1 read it as octal.
_RADIX = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"(?:([-+]?\.)(inf|Inf|INF)|\.(nan|NaN|NAN))\Z")
_NOT_FINITE = {math.inf: ".inf", -math.inf: "-.inf"}
_TAG = "tag:yaml.org,2002:"
# A tag such as `!!int "5"` has the text read as plain, too.
_TYPED = frozenset(_TAG + name for name in ("null", "bool", "int", "float"))


def value(node: Node) -> Value:
    """Give what a node means (core schema of YAML 1.2).

    Raises InputError where a key occurs twice.
    """
    if isinstance(node, Scalar):
        return _meaning(node)
    if isinstance(node, Sequence):
        return [value(item) for item in node.items]
    meaning: dict[str, Value] = {}
    # The meaning of keys is their text: `true:` and `"true":` are one key to Kubernetes.
    for key, entry in node.entries:
        if key.text in meaning:
            raise _duplicate(key)
        meaning[key.text] = value(entry)
    return meaning


def number(meaning: float) -> str:
    """Write a number so that YAML 1.1, YAML 1.2 and (but for infinities) JSON read the same one."""
    # An IntEnum is an int, and its own repr would be its name.
    if isinstance(meaning, int):
        return int.__repr__(meaning)
    if not math.isfinite(meaning):
        return _NOT_FINITE.get(meaning, ".nan")
    text = repr(meaning)
    mantissa, exponent, power = text.partition("e")
    if "." in mantissa:
        return text
    # To YAML 1.1 `1e3` is a string, and `1.0e+3` a number.
    return f"{mantissa}.0{exponent}{power}"


def _meaning(scalar: Scalar) -> Value:
    # Quoted, a text is a string, whatever it looks like.
    if scalar.tag is None and not scalar.plain:
        return scalar.text
    # Tags of others (`!vault`) are kept as text: nobody here knows them.
    if scalar.tag is not None and scalar.tag not in _TYPED:
        return scalar.text
    text = scalar.text
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    return _number(text)


def _number(text: str) -> int | float | str:
    if len(text) > _DIGITS:
        return text
    if _INT.match(text):
        return int(text)
    if _RADIX.match(text):
        return int(text, 0)
    if _FLOAT.match(text):
        return float(text)
    if _SPECIAL.match(text):
        # Python's float reads `-inf` and `nan`, in any case, but not the dot.
        return float(text.replace(".", ""))
    return text


def _duplicate(key: Scalar) -> InputError:
    return InputError(f"duplicate key {key.text!r} in a mapping", key.line, key.column)
