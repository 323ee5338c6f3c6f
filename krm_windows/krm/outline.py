"""The outline of a ResourceList: where its fields and the entries of its lists are in the bytes.

The orchestrators write block style, so that a scan for lines at the column of the top level and at
that of the dashes finds every boundary: whatever a text, a quoted scalar or a flow collection goes
on with is indented deeper than the collection around it (YAML 1.2.2, 6.1 and 7.3). What is not laid
out like this (JSON, tags, complex keys) is read by libyaml as a whole.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from krm_windows.krm import layout
from krm_windows.krm.errors import InputError
from krm_windows.krm.lines import end_of
from krm_windows.krm.nodes import Mapping, Sequence

Span: TypeAlias = tuple[int, int]

# A line at column 0 of a block mapping that is no entry of a list, with the line break before it.
_LINE = re.compile(rb"\n(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*")
_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*)?")
# A key of the top level as orchestrators write it: without quotes, its colon right behind it.
_FIELD = re.compile(rb"\n?([A-Za-z_][A-Za-z0-9_]*):(?=[ \t\r\n]|\Z)")
_MARKER = re.compile(rb"\n?(---|\.\.\.)[ \t]*(?:#[^\n]*+)?\r?\Z")
_END = re.compile(rb"^\.\.\.(?=\s|\Z)", re.MULTILINE)
_TRIVIA = re.compile(rb"(?:[ \t]*(?:#[^\n]*+)?\r?\n)*")
_COLON = re.compile(r"\s*:")
_DASH = re.compile(rb"( *)-[ \t\r\n]")
_BOM = b"\xef\xbb\xbf"

# Nothing, null or an empty list, perhaps on a line below, and comments.
# A comment is taken whole (`*+`): a line end of two characters could be shared in two ways, for
# each line.
_EMPTY = re.compile(
    rb"(?:[ \t]*+(?:\[[ \t]*+\]|null|~))?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*[ \t]*+(?:#[^\n]*+)?\Z"
)


class Field(NamedTuple):
    """A field of the top level: its name, and the bytes behind the colon."""

    name: str
    start: int
    end: int

    def is_empty(self, data: bytes) -> bool:
        """Say whether nothing, null or an empty list is behind the colon."""
        # A comment may be behind either, and a list may be on a line below.
        # In its place: a slice would be a second input in memory.
        return _EMPTY.match(data, self.start, self.end) is not None

    def is_null(self, data: bytes) -> bool:
        """Say whether nothing or null is behind the colon."""
        return self.is_empty(data) and data.find(b"[", self.start, self.end) < 0


class Listing(NamedTuple):
    """The entries of a list as spans of bytes; `column` is that of the dashes, None in flow style.

    In block style the spans touch each other: comments above an entry are part of its span, and so
    is what follows it.
    """

    spans: tuple[Span, ...] = ()
    column: int | None = None


class Outline(NamedTuple):
    """The fields of the one document, in order, and its items.

    `end` is where another field can be added; `flow` says that the document is in flow style, as
    JSON is.
    """

    fields: tuple[Field, ...]
    end: int
    flow: bool
    items: Listing

    def find(self, name: str) -> Field | None:
        """Give the field of that name; raises InputError if it is there twice."""
        found = [field for field in self.fields if field.name == name]
        if len(found) > 1:
            raise InputError(f"the ResourceList has a duplicate field {name!r}")
        if found:
            return found[0]
        return None


def trace(data: bytes) -> Outline:
    """Find fields and items of the one document in `data`.

    Raises InputError unless it is one mapping.
    """
    return scan(data) or parse(data)


def scan(data: bytes) -> Outline | None:
    """Find fields and items by their lines; None for a layout that is not the orchestrators'."""
    fields = _scanned_fields(data)
    if not fields:
        return None
    outline = Outline(fields, fields[-1].end, flow=False, items=Listing())
    items = outline.find("items")
    if items is None or items.is_empty(data):
        return outline
    found = _scanned_list(data, items)
    return None if found is None else outline._replace(items=found)


def parse(data: bytes) -> Outline:
    """Find fields and items with libyaml, whatever the style."""
    text = data.decode("utf-8-sig")
    root = layout.read(text)
    if not isinstance(root, Mapping):
        raise InputError("the input is not a ResourceList: it is not a mapping", 1, 1)
    flow = root.flow
    keys = [key for key, _ in root.entries]
    colons = [end_of(_COLON, text, key.end) for key in keys]
    for key, colon in zip(keys, colons, strict=True):
        # `? items`: nothing can be put behind it.
        if text[colon - 1] != ":" or (key.column > 1 and not flow):
            message = f"the field {key.text!r} must begin its line, with a colon behind it"
            raise InputError(message, key.line, key.column)
    shift = len(data) - len(text.encode())
    if flow:
        ends = [node.end for _, node in root.entries]
        end = len(text[: root.end - 1].encode()) + shift
    else:
        # In block style a field has no end of its own: what is below it belongs to it.
        ends = [key.start for key in keys[1:]]
        marker = _END.search(data, shift + len(text[: root.end].encode()))
        end = marker.start() if marker else len(data)
    places = [(len(text[:colon].encode()) + shift) for colon in colons]
    stops = [(len(text[:stop].encode()) + shift) for stop in ends]
    if not flow:
        stops.append(end)
    fields = [
        Field(key.text, start, stop) for key, start, stop in zip(keys, places, stops, strict=True)
    ]
    outline = Outline(tuple(fields), end, flow, Listing())
    items = outline.find("items")
    found = listing(data, items) if items else Listing()
    if found is None:
        raise InputError("`items` must be a list in block or flow style, without tag and anchor")
    return outline._replace(items=found)


def listing(data: bytes, field: Field) -> Listing | None:
    """Find the entries of a field; none where it is null, None where it is no list."""
    if field.is_empty(data):
        return Listing()
    return _scanned_list(data, field) or _flow_list(data, field)


def _flow_list(data: bytes, field: Field) -> Listing | None:
    """Give the entries of a list in flow style."""
    text = data[field.start : field.end].decode()
    node = layout.read(text)
    if not isinstance(node, Sequence) or not node.flow:
        return None
    spans = []
    place, before = field.start, 0
    # From each place to the next, as characters may be several bytes.
    for item in node.items:
        start = place + len(text[before : item.start].encode())
        place = start + len(text[item.start : item.end].encode())
        before = item.end
        spans.append((start, place))
    return Listing(tuple(spans))


def _scanned_fields(data: bytes) -> tuple[Field, ...]:
    """Give the fields if every line at column 0 begins one.

    A marker (`---`) may be before the first and one (`...`) behind the last; () for anything
    else.
    """
    found: list[tuple[str, int, int]] = []
    end = len(data)
    for start, line in _lines(data):
        # Behind `...` nothing may follow at column 0.
        if end < len(data):
            return ()
        field = _FIELD.match(line)
        if field:
            found.append((field.group(1).decode(), start, start + field.end()))
            continue
        marker = _MARKER.match(line)
        if marker is None:
            return ()
        if marker.group(1) == b"...":
            end = start
        # A marker below a field begins a second document, and so does one below any other text.
        elif found or data[:start].strip(_BOM):
            return ()
    if _has_content_behind(data, end):
        return ()
    ends = [*(key for _, key, _ in found[1:]), end]
    return tuple(
        Field(name, colon, stop) for (name, _, colon), stop in zip(found, ends, strict=False)
    )


def _has_content_behind(data: bytes, marker: int) -> bool:
    """Say whether something follows the line of the `...` at a place."""
    _, _, rest = data[marker:].partition(b"\n")
    return b"\n" in rest and bool(rest.strip())


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give start and text of lines at column 0 that are neither comments nor entries."""
    first = _FIRST_LINE.match(data)
    begin = 0
    if data.startswith(_BOM):
        begin = len(_BOM)
    if first and first.end() > begin:
        yield begin, data[begin : first.end()]
    for match in _LINE.finditer(data):
        # The match begins with the line break before the line.
        start = match.start() + 1
        yield start, data[start : match.end()]


def _scanned_list(data: bytes, field: Field) -> Listing | None:
    """Give the entries of a list in block style, each of which begins with a dash."""
    head_end = end_of(_TRIVIA, data, field.start, field.end)
    first = _DASH.match(data, head_end, field.end)
    if head_end == field.start or first is None:
        return None
    column = len(first.group(1))
    # Entries begin at the column of the first dash; deeper ones are inside of them.
    found = _dash(column).finditer(data, first.start() - 1, field.end)
    # Behind the line break that each match begins with.
    begins = [_head(data, match.start() + 1, column) for match in found]
    # Behind the last entry follows a field, at column 0.
    return Listing(tuple(pairwise([*begins, _head(data, field.end, 0)])), column)


def _head(data: bytes, line: int, column: int) -> int:
    """Climb from the start of a line over the comments above it that belong to it."""
    sign = b" " * column + b"#"
    while line and data.startswith(sign, above := data.rfind(b"\n", 0, line - 1) + 1):
        line = above
    return line


@cache
def _dash(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n {%d}-(?=[ \t\r\n]|\Z)" % column)
