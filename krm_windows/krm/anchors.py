"""Which anchors of an object others refer to.

YAML 1.2.2, 3.2.2.2: an anchor need not be unique, and an alias means the nearest earlier one of its
document. So two objects that both say `name: &app x` and `*app` have nothing to do with each other.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

import yaml

from krm_windows.krm import layout, lines
from krm_windows.krm.errors import InputError

# `&name`, up to what ends a name in a flow collection (YAML 1.2.2, 6.9.2).
_ANCHOR = re.compile(rb"&([^\s,\[\]{}]+)")
# `*name`; of `**bold**` in a text only what follows the last star.
_ALIAS = re.compile(rb"\*([^\s,\[\]{}*]+)")

Reference = tuple[str, int, int]
"""A name, where its anchor is, and where the alias: offsets in bytes."""


def shared(source: bytes, start: int, end: int) -> str | None:
    """Return the name of an anchor between two places that an alias elsewhere refers to."""
    # Most objects have none that only looks so: the whole input is read for the others alone.
    names = _ANCHOR.findall(source, start, end)
    if not any(_is_repeated(source, name, start, end) for name in names):
        return None
    for name, anchor, alias in _references(source):
        is_inside = start <= alias < end
        if start <= anchor < end and not is_inside:
            return name
    return None


def _is_repeated(
    source: bytes,
    name: bytes,
    start: int,
    end: int,
) -> bool:
    """Whether what looks like an alias of this name is outside of two places."""
    # A name without any alias has its place in here, and so none outside.
    first, last = _aliases(source).get(name, (start, start))
    return first < start or last >= end


@lru_cache(maxsize=1)
def _aliases(source: bytes) -> dict[bytes, tuple[int, int]]:
    """Give where the first and the last alias of each name are in an input."""
    # Kept, as every edit asks: the input stays the same, whatever is edited.
    found: dict[bytes, tuple[int, int]] = {}
    for alias in _ALIAS.finditer(source):
        # The first one stays, the last one moves on.
        first, _ = found.get(alias.group(1), (alias.start(), 0))
        found[alias.group(1)] = (first, alias.start())
    return found


@lru_cache(maxsize=1)
def _references(source: bytes) -> tuple[Reference, ...]:
    """Give every alias of an input with its anchor.

    If it cannot be read, each with every anchor.
    """
    try:
        return tuple(_read(source))
    except (InputError, UnicodeDecodeError):
        return tuple(_suspected(source))


def _read(source: bytes) -> Iterator[Reference]:
    # From here on places count characters, and those asked for count bytes.
    text = source.decode()
    offsets = lines.Offsets(text)
    anchors: dict[str, int] = {}
    for event in layout.events(text):
        if isinstance(event, yaml.DocumentStartEvent):
            # Each document has anchors of its own.
            anchors.clear()
        elif isinstance(event, yaml.AliasEvent):
            place = offsets.in_bytes(layout.starts(event).index)
            if event.anchor in anchors:
                yield event.anchor, anchors[event.anchor], place
        # A name that was before is out of sight from here on.
        elif isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            anchors[event.anchor] = offsets.in_bytes(layout.starts(event).index)


def _suspected(source: bytes) -> Iterator[Reference]:
    """Yield each alias with every anchor of its name: what cannot be read may refer to any."""
    aliases = _aliases(source)
    for anchor in _ANCHOR.finditer(source):
        name = anchor.group(1)
        for place in aliases.get(name, ()):
            yield name.decode(errors="replace"), anchor.start(), place
