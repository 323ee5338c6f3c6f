"""The outline of a ResourceList: where its fields and the entries of its lists begin and end in the bytes.

The orchestrators write block style, so that a scan for lines at the column of the top level finds every boundary. Such
a scan is right by induction: from a boundary on, only a quoted scalar or a flow collection can reach over a line at
that column. A span in which none is left open at the end of its line is complete; a span in which one might be is read
by libyaml; and what is not laid out like this (JSON, tags, complex keys) is read by libyaml as a whole.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from krm_windows.krm import boundaries, json_outline
from krm_windows.krm.errors import InputError

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the top level: its name, where its key begins, and the bytes behind the colon."""

    name: str
    key: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a list as spans of bytes; `column` is that of the dashes, None in flow style.

    In block style the spans touch each other: comments above an entry are part of its span, and so is what follows it.
    `reaching` are the numbers of those in which a quoted scalar or a flow collection may reach over a line.
    """

    spans: tuple[Span, ...] = ()
    column: int | None = None
    reaching: frozenset[int] = frozenset()
    # Whether the entries are JSON that Python's decoder reads as libyaml does.
    json: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Outline:
    """The fields of the one document, in order, and its items; `end` is where another field can be added."""

    fields: tuple[Field, ...]
    end: int
    flow: bool
    items: Listing

    def find(self, name: str) -> Field | None:
        """Give the field of that name; raises InputError if it stands there twice."""
        found = [field for field in self.fields if field.name == name]
        if len(found) > 1:
            raise InputError(f"the field {name!r} stands twice in the ResourceList")
        return found[0] if found else None


_LISTS = frozenset({"items", "results"})

# A line at column 0 of a block mapping that is no entry of a list, with the line break before it.
_LINE = re.compile(rb"\n(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*")
_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*)?")
_FIELD = re.compile(rb"\n?([A-Za-z_][A-Za-z0-9_]*):(?=[ \t\r\n]|\Z)")
_MARKER = re.compile(rb"\n?(---|\.\.\.)[ \t]*(?:#[^\n]*+)?\r?\Z")
_TRIVIA = re.compile(rb"(?:[ \t]*(?:#[^\n]*+)?\r?\n)*")
_DASH = re.compile(rb"( *)-[ \t\r\n]")
# A comment is taken whole (`*+`): a line end of two characters could be shared in two ways, for each line.
_EMPTY = re.compile(
    rb"(?:[ \t]*+(?:\[[ \t]*+\]|null|~))?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*[ \t]*+(?:#[^\n]*+)?\Z"
)
_FOREIGN_BREAK = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
_BOM = b"\xef\xbb\xbf"

# The beginning of a quoted scalar or a flow collection that is not closed on its line.
_BEGINS = rb"(?:(?<=[\s:?-][ \t].)|(?<=\n.))"
# Every repetition is possessive (`*+`): what it took is never tried again in another way, or a list that is not closed
# on its line would take twice as long with each entry.
_QUOTED = rb""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'(?!')"""
_ENTRY = rb"(?:[\w./-]++:[ ]++)?+(?>%b|[^\[\]{}\"'\#,\n]*+)" % _QUOTED
_PROPERTY = rb"""BEGINS\S*(?:[ \t]+[!&]\S*)?[ \t]+["'\[{]"""
_OPEN = re.compile(
    rb"""
      "BEGINS(?!(?:[^"\\\n]|\\.)*+")
    | 'BEGINS(?!(?:[^'\n]|'')*+'(?!'))
    | \[BEGINS(?!ENTRY(?:,[ ]*+ENTRY)*+\])
    | \{BEGINS(?!ENTRY(?:,[ ]*+ENTRY)*+\})
    | !PROPERTY
    | &PROPERTY
    """.replace(b"PROPERTY", _PROPERTY)
    .replace(b"BEGINS", _BEGINS)
    .replace(b"ENTRY", _ENTRY),
    re.VERBOSE,
)


def trace(data: bytes) -> Outline:
    """Find fields and items of the one document in `data`; raises InputError unless it is one mapping."""
    return scan(data) or decode(data) or parse(data)


def decode(data: bytes) -> Outline | None:
    """Find fields and items of a document in JSON, or None if that needs libyaml."""
    places = json_outline.find(data)
    if places is None:
        return None
    fields = tuple(Field(*place) for place in places.fields)
    outline = Outline(fields, places.end, flow=True, items=Listing(places.items, json=True))
    items = outline.find("items")
    if items and not places.items and not _EMPTY.match(data[items.start : items.end]):
        return None
    return outline


def listing(data: bytes, field: Field) -> Listing | None:
    """Find the entries of a field with libyaml: none where it is null, and None where it is no list."""
    if _EMPTY.match(data[field.start : field.end]):
        return Listing()
    shape = boundaries.read(data[field.start : field.end])
    if shape.kind != "sequence":
        return None
    spans = [(start + field.start, end + field.start) for start, end in shape.spans]
    if shape.flow:
        return Listing(tuple(spans))
    dashes = [start for start, _ in spans]
    ends = dict(enumerate(end for _, end in spans))
    return Listing(
        tuple(_spans(data, field, dashes, shape.column, ends)), shape.column, frozenset(ends)
    )


def is_null(data: bytes, field: Field) -> bool:
    """Say whether nothing or null stands behind the colon."""
    return b"[" not in (text := data[field.start : field.end]) and bool(_EMPTY.match(text))


def parse(data: bytes) -> Outline:
    """Find fields and items with libyaml, whatever the style."""
    shape = boundaries.read(data)
    if shape.kind != "mapping":
        raise InputError("the input is no ResourceList: it is no mapping", 1, 1)
    fields = _parsed_fields(shape)
    outline = Outline(fields, shape.end, shape.flow, Listing())
    _refuse_bare(data, shape)
    items = outline.find("items")
    found = listing(data, items) if items else Listing()
    if found is None:
        raise InputError("`items` is no list")
    return Outline(fields, shape.end, shape.flow, found)


def _refuse_bare(data: bytes, shape: boundaries.Shape) -> None:
    """Refuse a list of ours that has a key and no colon (`? items`): there is no place to put anything behind it."""
    for name, colon in zip(shape.names, shape.colons, strict=True):
        if name in _LISTS and data[colon - 1 : colon] != b":":
            raise InputError(f"the field {name!r} has no value, and no colon behind it")


def _parsed_fields(shape: boundaries.Shape) -> tuple[Field, ...]:
    ends = (
        [end for _, end in shape.spans]
        if shape.flow
        else [*(key for key, _ in shape.spans[1:]), shape.end]
    )
    return tuple(
        Field(name, start, colon, end)
        for name, (start, _), colon, end in zip(
            shape.names, shape.spans, shape.colons, ends, strict=True
        )
    )


def scan(data: bytes) -> Outline | None:
    """Find fields and items by their lines, or None if the document is not laid out as the orchestrators do."""
    if data.count(b"\r") != data.count(b"\r\n") or (
        not data.isascii() and _FOREIGN_BREAK.search(data)
    ):
        return None
    fields = _scanned_fields(data)
    if len({field.name for field in fields}) < max(len(fields), 1):
        return None
    reaching = [match.start() for match in _OPEN.finditer(data)]
    end = fields[-1].end
    outline = Outline(fields, end, flow=False, items=Listing())
    items = outline.find("items")
    if items is None or _EMPTY.match(data[items.start : items.end]):
        return outline if all(_is_complete(data, field, reaching) for field in fields) else None
    found = _scanned_list(data, items, reaching)
    rest = all(_is_complete(data, field, reaching) for field in fields if field is not items)
    return Outline(fields, end, flow=False, items=found) if found and rest else None


def _scanned_fields(data: bytes) -> tuple[Field, ...]:
    """Give the fields if every line at column 0 begins one, but for a marker at the start and one at the end."""
    found: list[tuple[str, int, int]] = []
    end = len(data)
    for start, line in _lines(data):
        field = _FIELD.match(line)
        marker = None if field else _MARKER.match(line)
        if end < len(data) or not (field or marker):
            return ()
        if field:
            found.append((field.group(1).decode(), start, start + field.end()))
        elif marker and marker.group(1) == b"...":
            end = start
        elif found or data[:start].strip(_BOM):
            return ()
    if data[end:].count(b"\n") > 1 and data[end:].split(b"\n", 1)[1].strip():
        return ()
    marks = [*(key for _, key, _ in found[1:]), end]
    return tuple(Field(*place, mark) for place, mark in zip(found, marks, strict=bool(found)))


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give start and text of the lines at column 0 that are neither comments nor entries of a list."""
    first = _FIRST_LINE.match(data)
    begin = len(_BOM) if data.startswith(_BOM) else 0
    if first and first.end() > begin:
        yield begin, data[begin : first.end()]
    for match in _LINE.finditer(data):
        yield match.start() + 1, data[match.start() + 1 : match.end()]


def _is_complete(data: bytes, field: Field, reaching: list[int]) -> bool:
    """Say whether nothing in the field reaches over its end."""
    if bisect_right(reaching, field.key) == bisect_right(reaching, field.end):
        return True
    return boundaries.complete(data[field.key : field.end], "mapping") is not None


def _scanned_list(data: bytes, field: Field, reaching: list[int]) -> Listing | None:
    """Give the entries of a list if a dash at the column of the first one begins each."""
    head = _TRIVIA.match(data, field.start, field.end)
    first = _DASH.match(data, head.end(), field.end) if head and head.end() > field.start else None
    if first is None:
        return None
    column = len(first.group(1))
    dash = re.compile(rb"\n {%d}-(?=[ \t\r\n]|\Z)" % column)
    dashes = [match.end() - 1 for match in dash.finditer(data, first.start() - 1, field.end)]
    ends = _ends(data, [*(start - column for start in dashes), field.end], reaching)
    if ends is None:
        return None
    return Listing(tuple(_spans(data, field, dashes, column, ends)), column, frozenset(ends))


def _ends(data: bytes, bounds: list[int], reaching: list[int]) -> dict[int, int] | None:
    """Give where the content of each span with something reaching over a line ends; None if one is not complete."""
    low, high = bisect_right(reaching, bounds[0]), bisect_right(reaching, bounds[-1])
    ends: dict[int, int] = {}
    for index in sorted({bisect_right(bounds, place) - 1 for place in reaching[low:high]}):
        end = boundaries.complete(data[bounds[index] : bounds[index + 1]], "sequence")
        if end is None:
            return None
        ends[index] = bounds[index] + end
    return ends


def _spans(
    data: bytes, field: Field, dashes: list[int], column: int, ends: dict[int, int]
) -> Iterator[Span]:
    """Give the span of each entry, from the comments above its dash to those above the next one."""
    heads = [_head(data, dashes[0] - column, field.start, column)]
    for index, dash in enumerate(dashes[1:]):
        heads.append(_head(data, dash - column, ends.get(index, dashes[index]), column))
    heads.append(_head(data, field.end, ends.get(len(dashes) - 1, dashes[-1]), 0))
    return pairwise(heads)


def _head(data: bytes, start: int, floor: int, column: int) -> int:
    """Climb from the line at `start` over comments that belong to it, not further than to the line of `floor`.

    A comment deeper than `column` belongs to what is above, and so does one that stands right below it and is followed
    by a blank line.
    """
    head = line = start
    below: int | None = None
    while (above := data.rfind(b"\n", floor, max(line - 1, floor)) + 1) > floor:
        text = data[above:line].lstrip()
        if text and (text[:1] != b"#" or line - above - len(text) > column):
            break
        if text:
            head = above
        else:
            below = head
        line = above
    return below if below is not None and head == line else head
