"""Boundaries of the children of a document's root, in bytes, from the events of libyaml.

`layout` builds every node, which a whole input of hundreds of megabytes does not allow. Here only
the children of the root are kept, and of each no more than its place.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import yaml

from krm_windows.krm import lines
from krm_windows.krm.errors import ExcessError, InputError
from krm_windows.krm.fields import Span
from krm_windows.krm.layout import ends, events, starts

Kind = Literal["mapping", "sequence", "scalar"]

# libyaml skips a byte order mark in front of a text; in the bytes it takes three.
_BOM = "\ufeff"


class Shape(NamedTuple):
    """A root and its children.

    In a mapping `spans` are from key to the end of the value, in a sequence from the dash. `names`
    are the texts of a mapping's keys, `colons` the places behind their colons, or behind the key
    where there is none (`? key`, `{key}`). `column` is that of the root. `end` is where a block
    mapping can be continued, or the closing bracket of a flow one.
    """

    kind: Kind
    flow: bool
    column: int
    end: int
    spans: tuple[Span, ...]
    names: tuple[str, ...] = ()
    colons: tuple[int, ...] = ()


class _Children:
    """Collects the children of the root from a stream of events.

    `nodes` are the start and the end of each in characters; those of a mapping are in turn its keys
    and its values. libyaml does not count a byte order mark, so `shift` is added to each place.
    """

    def __init__(self, shift: int) -> None:
        self.shift = shift
        self.depth = 0
        self.root: yaml.Event | None = None
        self.nodes: list[list[int]] = []
        self.names: list[str] = []
        self.end = shift
        self.documents = 0

    def add(self, event: yaml.Event) -> None:
        """Take the next event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
        elif isinstance(event, yaml.NodeEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.depth -= 1
            self._close(event)
        # A document without a closing bracket ends where the next marker, or the input, does.
        elif isinstance(event, yaml.DocumentEndEvent) and self.end == self.shift:
            self.end = self._start(event)

    def spans(self, text: str) -> list[Span]:
        """Give the places of the nodes.

        The end of a block scalar is behind its last line break: what follows that break belongs to
        nobody yet.
        """
        found = []
        for start, end in self.nodes:
            # `end` is behind the scalar's last line break; a slice is empty for the very first
            # character.
            behind_break = text[end - 1 : end] == "\n"
            found.append((start, end - behind_break))
        return found

    def _start(self, event: yaml.Event) -> int:
        return starts(event).index + self.shift

    def _end(self, event: yaml.Event) -> int:
        return ends(event).index + self.shift

    def _begin(self, event: yaml.NodeEvent) -> None:
        if self.root is None:
            # The first node of all is the root of the first document.
            self.root = event
        elif self.documents > 1:
            _refuse_second(event)
        elif self.depth == 1:
            # Directly below the root: a key, a value or an entry begins.
            self.nodes.append([self._start(event), self._end(event)])
            name = ""
            if isinstance(event, yaml.ScalarEvent):
                name = event.value
            self.names.append(name)
        if isinstance(event, yaml.CollectionStartEvent):
            self.depth += 1
        # A leaf deeper down: the child reaches at least so far.
        elif self.depth > 1:
            self.nodes[-1][1] = self._end(event)

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        """Move the end of the child to the closing bracket.

        A block collection has none: its end is that of its last leaf, and the event is empty.
        """
        has_bracket = self._end(event) > self._start(event)
        if not has_bracket:
            return
        # The bracket of the root itself: another field goes in front of it.
        if self.depth == 0:
            self.end = self._start(event)
        elif self.nodes:
            self.nodes[-1][1] = self._end(event)


def _refuse_second(event: yaml.NodeEvent) -> None:
    """Refuse a second document, unless it is empty: then it is an empty scalar."""
    if isinstance(event, yaml.ScalarEvent) and ends(event).index == starts(event).index:
        return
    mark = starts(event)
    raise InputError("there is a second document", mark.line + 1, mark.column + 1)


def read(data: bytes) -> Shape:
    """Find the children of the root of the one document in `data`.

    Raises InputError if unreadable.
    """
    text = data.decode()
    content = text.removeprefix(_BOM)
    # So much is missing in front of what libyaml counts.
    children = _Children(len(text) - len(content))
    for event in events(content):
        children.add(event)
    root = children.root
    if root is None:
        raise InputError("the input is empty")
    if isinstance(root, yaml.MappingStartEvent):
        return _mapping(text, root, children)
    if isinstance(root, yaml.SequenceStartEvent):
        return _sequence(text, root, children)
    return Shape("scalar", flow=False, column=0, end=0, spans=())


def complete(data: bytes, kind: Kind) -> int | None:
    """Say where the content ends if `data` is exactly one entry of a block collection, else None.

    Raises ExcessError where it is nested too deeply: reading more of it would not help.
    """
    try:
        # More lines would not make it any less deep.
        shape = read(data)
    except ExcessError:
        raise
    except InputError:
        return None
    if shape.kind != kind or shape.flow or len(shape.spans) != 1:
        return None
    _, end = shape.spans[0]
    return end


def _mapping(
    text: str,
    root: yaml.MappingStartEvent,
    children: _Children,
) -> Shape:
    """Give the shape of a mapping, whose nodes are keys and values in turn."""
    nodes = children.spans(text)
    # Keys and values come in turn.
    keys = nodes[::2]
    values = nodes[1::2]
    colons = [lines.colon(text, end) for _, end in keys]
    begin = starts(root).index + children.shift
    spans = list(_entries(text, begin, keys, values, colons))
    offsets = _offsets(text, spans, [*colons, children.end])
    return Shape(
        kind="mapping",
        flow=bool(root.flow_style),
        column=starts(root).column,
        end=offsets[children.end],
        spans=_in_bytes(spans, offsets),
        names=tuple(children.names[::2]),
        colons=tuple([offsets[colon] for colon in colons]),
    )


def _sequence(
    text: str,
    root: yaml.SequenceStartEvent,
    children: _Children,
) -> Shape:
    """Give the shape of a sequence; in block style an entry begins at its dash."""
    spans = children.spans(text)
    flow = bool(root.flow_style)
    column = starts(root).column
    if not flow:
        ends_of_entries = [end for _, end in spans]
        begin = starts(root).index + children.shift
        dashes = list(lines.dashes(text, begin, ends_of_entries))
        spans = list(zip(dashes, ends_of_entries, strict=True))
        # The root begins with its properties (`!!seq`), which may be on a line above.
        column = dashes[0] - lines.start(text, dashes[0])
    offsets = _offsets(text, spans, [children.end])
    return Shape(
        kind="sequence",
        flow=flow,
        column=column,
        end=offsets[children.end],
        spans=_in_bytes(spans, offsets),
    )


def _entries(
    text: str,
    begin: int,
    keys: list[Span],
    values: list[Span],
    colons: list[int],
) -> Iterator[Span]:
    """Give the entries of a mapping that begins at `begin`, each from its key or its `?`."""
    place = begin
    for (key, _), (_, end), colon in zip(keys, values, colons, strict=True):
        yield lines.question(text, place, key), end
        # A key without a value may have a colon behind it: `{a:, b}`.
        place = max(end, colon)


def _offsets(
    text: str,
    spans: Iterable[Span],
    others: Iterable[int],
) -> dict[int, int]:
    """Give the offset in bytes of each place in characters."""
    places = set(others)
    for span in spans:
        places.update(span)
    # Sorted, as the offsets are counted from one place on to the next.
    offsets = lines.Offsets(text)
    return {place: offsets.in_bytes(place) for place in sorted(places)}


def _in_bytes(spans: Iterable[Span], offsets: dict[int, int]) -> tuple[Span, ...]:
    return tuple([(offsets[start], offsets[end]) for start, end in spans])
