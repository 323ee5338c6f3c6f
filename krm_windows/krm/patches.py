"""Patches of a text, and what the comparison of a layout with a value is made of."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from krm_windows.krm import layout, nodes
from krm_windows.krm.layout import Spot
from krm_windows.krm.nodes import Scalar, Value


class NotMinimalError(Exception):
    """A change that cannot be made at this node: one around it is written as a whole."""


class Patch(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


def apply(text: str, patches: Iterable[Patch]) -> str:
    """Make patches, those of one place in the order given."""
    pieces: list[str] = []
    place = 0
    # Sorting is stable: of two at one place the first stays the first.
    for patch in sorted(patches, key=_place):
        # Where patches overlap, what was taken once is not taken again.
        pieces.append(text[place : max(patch.start, place)])
        pieces.append(patch.text)
        place = max(place, patch.end)
    pieces.append(text[place:])
    return "".join(pieces)


def _place(patch: Patch) -> tuple[int, int]:
    return patch.start, patch.end


def meaning(spot: Spot) -> Value:
    """Give the value of a spot."""
    return nodes.value(layout.node(spot))


def name_of(key: Spot) -> str:
    """Give the text of a key."""
    scalar = layout.node(key)
    if not isinstance(scalar, Scalar):
        raise NotMinimalError
    return scalar.text


def same(one: Value, other: Value) -> bool:
    """Say whether values are equal and of equal types: 1, 1.0 and true are three."""
    return canonical(one) == canonical(other)


def canonical(value: Value) -> str:
    """Give a text that is the same for the same values."""
    # JSON distinguishes 1, 1.0 and true, which Python calls equal.
    return json.dumps(value, sort_keys=True)
