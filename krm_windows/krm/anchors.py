"""Which anchors of an object others refer to: an alias belongs to the nearest earlier anchor of its own document.

YAML 1.2.2, 3.2.2.2: an anchor need not be unique, and one of a name that stood before is out of sight from there on. So
two objects that both say `name: &app x` and `*app` have nothing to do with each other.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import yaml

from krm_windows.krm import layout
from krm_windows.krm.errors import InputError

_ANCHOR = re.compile(rb"&([^\s,\[\]{}]+)")
_ALIAS = re.compile(rb"\*([^\s,\[\]{}*]+)")

Reference = tuple[str, int, int]
"""A name, where its anchor stands, and where the alias: offsets in bytes."""


def shared(source: bytes, start: int, end: int) -> str | None:
    """Return the name of an anchor between two places that an alias elsewhere refers to; None where there is none.

    Most objects have none that only looks so; it is the others for which the whole input is read.
    """
    if not any(
        _is_repeated(source, name, start, end) for name in _ANCHOR.findall(source, start, end)
    ):
        return None
    for name, anchor, alias in _references(source):
        if start <= anchor < end and not start <= alias < end:
            return name
    return None


def _is_repeated(source: bytes, name: bytes, start: int, end: int) -> bool:
    """Whether what looks like an alias of this name stands outside of two places."""
    first, last = _aliases(source).get(name, (start, start))
    return first < start or last >= end


@lru_cache(maxsize=1)
def _aliases(source: bytes) -> dict[bytes, tuple[int, int]]:
    """Give where the first and the last alias of each name stand in an input: looked for once, whatever is edited."""
    found: dict[bytes, tuple[int, int]] = {}
    for alias in _ALIAS.finditer(source):
        first, _ = found.get(alias.group(1), (alias.start(), 0))
        found[alias.group(1)] = (first, alias.start())
    return found


@lru_cache(maxsize=1)
def _references(source: bytes) -> tuple[Reference, ...]:
    """Give every alias of an input with its anchor, read once; of one that cannot be read, each with every anchor."""
    try:
        return tuple(_read(source))
    except (InputError, UnicodeDecodeError):
        return tuple(_suspected(source))


def _read(source: bytes) -> Iterator[Reference]:
    text = source.decode()
    places = _Places(text)
    anchors: dict[str, int] = {}
    for event in layout.events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchors:
                yield event.anchor, anchors[event.anchor], places.bytes(layout.starts(event).index)
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            anchors[event.anchor] = places.bytes(layout.starts(event).index)


def _suspected(source: bytes) -> Iterator[Reference]:
    """Yield each alias with every anchor of its name: what cannot be read may refer to any."""
    aliases = _aliases(source)
    for anchor in _ANCHOR.finditer(source):
        name = anchor.group(1)
        for place in aliases.get(name, ()):
            yield name.decode(errors="replace"), anchor.start(), place


class _Places:
    """Turns places in characters into places in bytes, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_ascii = text.isascii()
        self._characters = 0
        self._bytes = 0

    def bytes(self, index: int) -> int:
        """Return where a character stands; never asked for one before the last."""
        if self._is_ascii:
            return index
        self._bytes += len(self._text[self._characters : index].encode())
        self._characters = index
        return self._bytes
