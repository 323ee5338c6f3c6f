"""What comes with the same key, put together."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, frozenset[V]]:
    """Put together the values that come with each key; the keys are in the order they come in."""
    found: dict[K, set[V]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: frozenset(values) for key, values in found.items()}
