"""An object without one large mapping, of which single entries are read when they are asked for.

A policy of a thousand clusters is a thousand patches, of which a question is about one. All of the
text goes through libyaml once, so that it is known to be YAML; nodes are built of what is asked.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import NamedTuple, cast

import yaml

from krm_windows.krm import layout, lines
from krm_windows.krm.errors import InputError
from krm_windows.krm.kube_object import HEADING, KubeObject
from krm_windows.krm.nodes import Mapping, Node

# `<<: *base` takes entries from another mapping, which may be anywhere above.
_MERGE_KEY = "<<"
# Bytes of an entry that is kept: with a thousand of them, some 20 MB at most.
_SHORT = 1 << 10


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Where the entries of the mapping are in the source of an object, in bytes.

    Entry number `i` begins at `starts[i]`, with `column` blanks before it, and ends where the next
    one begins; the last one ends at `end`. The mapping's own key is on the line at `begin`. The
    `numbers` are those of the entries by their names.
    """

    item: KubeObject
    names: tuple[str, ...]
    numbers: dict[str, int]
    starts: "array[int]"
    begin: int
    end: int
    column: int

    @property
    def length(self) -> int:
        """How many bytes the mapping has: no part of it has more."""
        return self.end - self.begin

    def rest(self) -> Mapping:
        """Read the object without the mapping; raises InputError where that cannot be."""
        item = self.item
        above, below = item.source[item.start : self.begin], item.source[self.end : item.end]
        return KubeObject.parse(above + below).node

    def entry(self, number: int) -> Node:
        """Read the value of one entry; raises InputError where it cannot be read alone.

        Lines and columns of what is in it are those of some entry with the same text.
        """
        text = self._entry(number)
        begins = self._begins(number)
        if len(text) > _SHORT or not text.startswith(begins):
            return _value(self.column, text)
        return _shared(self.column, text[len(begins) :])

    def value_text(self, number: int) -> bytes | None:
        """Return the text of an entry behind its name: what has the same text is the same.

        None where the name is not written as it is, such as in quotes.
        """
        text = self._entry(number)
        begins = self._begins(number)
        if not text.startswith(begins):
            return None
        return text[len(begins) :].strip()

    def _begins(self, number: int) -> bytes:
        return self.names[number].encode() + b":"

    def _entry(self, number: int) -> bytes:
        end = self.end
        if number + 1 < len(self.starts):
            end = self.starts[number + 1] - self.column
        return self.item.source[self.starts[number] : end]


def _value(column: int, text: bytes) -> Node:
    # All lines of the entry are indented as they were, its first one, too.
    [(_, found)] = KubeObject.parse(b" " * column + text).node.entries
    return found


# Of a thousand clusters many have the same patch, in one policy and in others.
@lru_cache(maxsize=1024)
def _shared(column: int, text: bytes) -> Node:
    """Read what is behind a name, whichever name it is."""
    return _value(column, b"name:" + text)


# Policies of one fleet name the same clusters, and share what is made of their names.
@lru_cache(maxsize=256)
def _numbers(names: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def read(item: KubeObject, *path: str) -> tuple[KubeObject | None, Excerpt | None]:
    """Return an object with nothing but version, kind and metadata, and it without a mapping.

    The first is None where the object has to be read as a whole. The second is None where the
    values of the mapping at the path are not all mappings, in block style, or where an entry could
    mean something else alone than in its place: with an anchor, an alias, a tag, or a key that
    occurs twice, anywhere in the object.
    """
    if item.column is not None or item.json or item.edited:
        return None, None
    text = item.span.decode("utf-8-sig")
    reader = _Reader(path)
    try:
        if not all(reader.takes(event) for event in layout.events(text)):
            return None, None
    except InputError:
        # Whoever reads the object says where it is wrong.
        return None, None
    return reader.head(text), reader.excerpt(item, text)


class _Key(NamedTuple):
    """A key of a mapping, and where it is."""

    name: str
    start: int
    column: int


@dataclass(slots=True)
class _Level:
    """A collection that is being read; `keys` is None in a sequence.

    `key` is the one whose value follows, None where a key follows.
    """

    keys: set[str] | None
    key: str | None = None

    @property
    def is_at_key(self) -> bool:
        return self.keys is not None and self.key is None


class _Reader:
    """Takes events, and notes the keys of the root and of the mappings along a path.

    `noted` are those keys by how deep they are: the last are the names of the entries. `along` is
    how many steps of the path lead to what is being read.
    """

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        self.levels: list[_Level] = []
        self.along = 0
        self.noted: list[list[_Key]] = [[] for _ in range(len(path) + 1)]
        self.documents = 0
        self.end = 0
        # The first key behind the mapping.
        self.behind: _Key | None = None
        # Whether everything along the path is in block style, and every entry is a mapping.
        self.is_block = True
        self.is_even = True

    def takes(self, event: yaml.Event) -> bool:
        """Take an event; say whether the object may still be read in parts."""
        # By type alone, the cheapest way: there are ten events to a cluster.
        kind = type(event)
        if kind is yaml.ScalarEvent:
            return self._scalar(cast("yaml.ScalarEvent", event))
        if kind in layout.STARTS:
            return self._begin(cast("yaml.CollectionStartEvent", event))
        if kind in layout.ENDS:
            self.levels.pop()
            self.along = min(self.along, len(self.levels) - 1)
            self._close()
            return True
        if kind is yaml.DocumentStartEvent:
            self.documents += 1
            # `%TAG` changes what follows.
            return self.documents == 1 and not cast("yaml.DocumentStartEvent", event).tags
        if kind is yaml.DocumentEndEvent:
            self.end = layout.starts(event).index
        return kind is not yaml.AliasEvent

    def _scalar(self, event: yaml.ScalarEvent) -> bool:
        if event.anchor is not None or event.tag is not None or not self.levels:
            return False
        level = self.levels[-1]
        if level.keys is None:
            return True
        if level.key is not None:
            # The value of an entry, which is no mapping.
            if self._is_entry():
                self.is_even = False
            level.key = None
            return True
        return self._key(event, level, level.keys)

    def _key(
        self,
        event: yaml.ScalarEvent,
        level: _Level,
        keys: set[str],
    ) -> bool:
        name = event.value
        if name in keys or name == _MERGE_KEY:
            return False
        keys.add(name)
        level.key = name
        if self.along == len(self.levels) - 1:
            mark = layout.starts(event)
            key = _Key(name, mark.index, mark.column)
            self.noted[self.along].append(key)
            is_above = self.along < len(self.path)
            if is_above and self.noted[-1] and self.behind is None:
                self.behind = key
        return True

    def _begin(self, event: yaml.CollectionStartEvent) -> bool:
        is_mapping = type(event) is yaml.MappingStartEvent
        if event.anchor is not None or event.tag is not None:
            return False
        if not self.levels:
            self.is_block = not event.flow_style
        elif self.levels[-1].is_at_key:
            # `? {a: b}`: a key that is no text.
            return False
        elif is_mapping:
            self._step(self.levels[-1].key, event)
        elif self._is_entry():
            self.is_even = False
        self.levels.append(_Level(set() if is_mapping else None))
        return is_mapping or len(self.levels) > 1

    def _step(self, key: str | None, event: yaml.CollectionStartEvent) -> None:
        """Go one step along the path, if the mapping that begins is the next on it."""
        depth = len(self.levels)
        if self.along == depth - 1 and self.path[depth - 1 : depth] == (key,):
            self.along = depth
            self.is_block = self.is_block and not event.flow_style

    def _close(self) -> None:
        """Go on with the next key, once a value is over."""
        if self.levels:
            self.levels[-1].key = None

    def _is_entry(self) -> bool:
        """Say whether the value of an entry of the mapping is being read."""
        return self.along == len(self.path) == len(self.levels) - 1

    def head(self, text: str) -> KubeObject | None:
        """Return the object with its heading alone."""
        keys = self.noted[0]
        if not self.is_block or not _begin_lines(text, keys):
            return None
        bounds = [*(key.start for key in keys), len(text)]
        parts = [
            text[start:end]
            for key, (start, end) in zip(keys, pairwise(bounds), strict=True)
            if key.name in HEADING
        ]
        # An empty text is no object, but this one may be any other mapping.
        if not parts:
            return None
        return KubeObject.parse("".join(parts).encode())

    def excerpt(self, item: KubeObject, text: str) -> Excerpt | None:
        """Return the object without the mapping."""
        entries = self.noted[-1]
        if not entries or not self.is_block or not self.is_even:
            return None
        end = self.end
        if self.behind is not None:
            end = self.behind.start - self.behind.column
        # The key of the mapping is the last that was noted above the first of its entries.
        own = [key for key in self.noted[-2] if key.start < entries[0].start][-1]
        if not _begin_lines(text, [own, *entries]):
            return None
        places = [own.start - own.column, *(key.start for key in entries), end]
        begin, *starts, end = _in_source(item, text, places)
        # Policies of one fleet name the same clusters.
        names = tuple(intern(key.name) for key in entries)
        column = entries[0].column
        return Excerpt(item, names, _numbers(names), array("I", starts), begin, end, column)


def _in_source(item: KubeObject, text: str, places: Iterable[int]) -> Iterator[int]:
    """Yield where some characters of an object's text are in its source, one after the other."""
    # A byte order mark is no part of the text.
    begin = item.end - len(text.encode())
    offsets = lines.Offsets(text)
    for place in places:
        yield begin + offsets.in_bytes(place)


def _begin_lines(text: str, keys: Iterable[_Key]) -> bool:
    """Say whether nothing but blanks is before each key on its line, such as a `?`."""
    return all(text[key.start - key.column : key.start].strip(" ") == "" for key in keys)
