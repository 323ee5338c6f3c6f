"""Boundaries of the children of a document's root, in bytes, from the events of libyaml."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import yaml

from krm_windows.krm import lines
from krm_windows.krm.errors import ExcessError, InputError
from krm_windows.krm.layout import ends, events, starts

Kind = Literal["mapping", "sequence", "scalar"]


@dataclass(frozen=True, slots=True)
class Shape:
    """A root and its children: in a mapping `spans` are from key to the end of the value, in a sequence from the dash.

    `names` are the texts of a mapping's keys, `colons` the places behind their colons, or behind the key where there is
    none (`? key`, `{key}`); `column` is that of the root;
    `end` is where a block mapping can be continued, or the closing bracket of a flow one.
    """

    kind: Kind
    flow: bool
    column: int
    end: int
    spans: tuple[tuple[int, int], ...]
    names: tuple[str, ...] = ()
    colons: tuple[int, ...] = ()


class _Children:
    """Collects the children of the root from a stream of events: start and end of each in characters."""

    def __init__(self) -> None:
        self.depth = 0
        self.root: yaml.Event | None = None
        self.nodes: list[list[int]] = []
        self.names: list[str] = []
        self.end = 0
        self.documents = 0

    def add(self, event: yaml.Event) -> None:
        """Take the next event."""
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
        elif isinstance(event, yaml.NodeEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.depth -= 1
            self._reach(event)
        elif isinstance(event, yaml.DocumentEndEvent):
            self.end = self.end or starts(event).index

    def _begin(self, event: yaml.NodeEvent) -> None:
        if self.root is None:
            self.root = event
        elif self.documents > 1:
            self._refuse(event)
        elif self.depth == 1:
            self.nodes.append([starts(event).index, ends(event).index])
            self.names.append(event.value if isinstance(event, yaml.ScalarEvent) else "")
        if isinstance(event, yaml.CollectionStartEvent):
            self.depth += 1
        elif self.depth > 1:
            self.nodes[-1][1] = ends(event).index

    def _reach(self, event: yaml.Event) -> None:
        """Move the end of the child to the closing bracket; the end of a block collection is that of its last leaf."""
        closed = ends(event).index > starts(event).index
        if self.depth == 0:
            self.end = starts(event).index if closed else 0
        elif closed and self.nodes:
            self.nodes[-1][1] = ends(event).index

    def _refuse(self, event: yaml.NodeEvent) -> None:
        """Refuse a second document, unless it is empty."""
        if not isinstance(event, yaml.ScalarEvent) or ends(event).index > starts(event).index:
            raise InputError(
                "there is a second document", starts(event).line + 1, starts(event).column + 1
            )


def read(data: bytes) -> Shape:
    """Find the children of the root of the one document in `data`; raises InputError where it cannot be read."""
    text = data.decode()
    children = _Children()
    for event in events(text.removeprefix("\ufeff")):
        children.add(event)
    shift = len(text) - len(text.removeprefix("\ufeff"))
    return _shape(text, children, shift)


def complete(data: bytes, kind: Kind) -> int | None:
    """Say where the content ends if `data` is exactly one entry of a block mapping or sequence, else None.

    Raises ExcessError where it is nested too deeply: reading more of it would not help.
    """
    try:
        shape = read(data)
    except ExcessError:
        raise
    except InputError:
        return None
    return (
        shape.spans[0][1]
        if (shape.kind, shape.flow, len(shape.spans)) == (kind, False, 1)
        else None
    )


def _shape(text: str, children: _Children, shift: int) -> Shape:
    root = children.root
    if root is None:
        raise InputError("the input is empty")
    # The end of a block scalar is behind its last line break: what follows that break belongs to nobody yet.
    nodes = [
        (start + shift, end + shift - (text[end + shift - 1 : end + shift] == "\n"))
        for start, end in children.nodes
    ]
    if not isinstance(root, yaml.CollectionStartEvent):
        return Shape("scalar", flow=False, column=0, end=0, spans=())
    flow, column = bool(root.flow_style), starts(root).column
    if isinstance(root, yaml.MappingStartEvent):
        colons = [lines.colon(text, end) for _, end in nodes[::2]]
        spans = list(_entries(text, nodes, colons, starts(root).index + shift))
        places = _bytes(
            text, [*(place for span in spans for place in span), *colons, children.end + shift]
        )
        pairs = tuple((places[start], places[end]) for start, end in spans)
        names = tuple(children.names[::2])
        return Shape(
            "mapping",
            flow,
            column,
            places[children.end + shift],
            pairs,
            names,
            tuple(places[colon] for colon in colons),
        )
    if not flow:
        dashes = list(lines.dashes(text, starts(root).index + shift, (end for _, end in nodes)))
        nodes = [(dash, end) for dash, (_, end) in zip(dashes, nodes, strict=True)]
        column = dashes[0] - lines.start(text, dashes[0])
    places = _bytes(text, [place for span in nodes for place in span] + [children.end + shift])
    spans_ = tuple((places[start], places[end]) for start, end in nodes)
    return Shape("sequence", flow, column, places[children.end + shift], spans_)


def _entries(
    text: str, nodes: list[tuple[int, int]], colons: list[int], place: int
) -> Iterator[tuple[int, int]]:
    """Give the entries of a mapping that begins at `place`, each from its key or from the `?` before it."""
    for key, entry, colon in zip(nodes[::2], nodes[1::2], colons, strict=True):
        yield lines.question(text, place, key[0]), entry[1]
        place = max(entry[1], colon)


def _bytes(text: str, places: Iterable[int]) -> dict[int, int]:
    """Turn offsets in characters into offsets in bytes."""
    found: dict[int, int] = {}
    last = total = 0
    for place in sorted(set(places)):
        total += len(text[last:place].encode())
        found[place] = total
        last = place
    return found
