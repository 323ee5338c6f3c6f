"""Listings: the entries of a list of the top level, written in the style of that list.

Untouched neighbours are written as one piece of the input, without a copy.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from krm_windows.krm import nodes, writer
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.lines import end_of
from krm_windows.krm.outline import Field, Listing, Outline

Chunk: TypeAlias = bytes | memoryview
Change: TypeAlias = tuple[int, int, Iterable[Chunk]]

# Comments and blank lines above an entry.
_HEADING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*")
# A byte order mark, markers of documents on a line of their own, and one before a node (`--- {}`).
_MARKERS = re.compile(
    rb"(?m)\A\xef\xbb\xbf|^(?:---|\.\.\.)[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)|^---[ \t]+"
)


def objects(data: bytes, listing: Listing) -> list[KubeObject]:
    """Give the entries of a list as objects."""
    return [KubeObject(data, *span, column=listing.column) for span in listing.spans]


def chunks(
    data: bytes,
    field: Field,
    listing: Listing,
    items: list[KubeObject],
    *,
    flow: bool,
) -> Iterator[Chunk]:
    """Give the bytes behind a field's colon with these items in place of the ones that are there.

    `flow` is the style of the document.
    """
    view = memoryview(data)
    if listing.spans and listing.column is not None and items:
        # What is above the first entry and below the last one stays.
        yield view[field.start : listing.spans[0][0]]
        yield from _lines(_pieces(data, items, listing.column), newline(data))
        yield view[listing.spans[-1][1] : field.end]
    elif _are_untouched(data, listing, items) and not field.is_null(data):
        yield view[field.start : field.end]
    elif flow:
        yield b" " + _flow_list(items)
    elif not items:
        # As the field may be the last, its line has to end.
        yield b" []" + newline(data)
    else:
        yield newline(data)
        yield from _lines(_pieces(data, items, 0), newline(data))
        # Another field follows.
        yield newline(data) if not items[-1].span.endswith(b"\n") else b""


def _pieces(data: bytes, items: list[KubeObject], column: int) -> Iterator[Chunk]:
    """Give items as entries at a column; what nobody edited is a piece of the input."""
    view = memoryview(data)
    for item in items:
        if item.source is data and not item.edited and item.column == column:
            yield view[item.start : item.end]
        else:
            yield framed(item, column, newline(data))


def _are_untouched(data: bytes, listing: Listing, items: list[KubeObject]) -> bool:
    """Say whether items are those of a list, as they came."""
    places = [(item.start, item.end) for item in items if item.source is data and not item.edited]
    return places == list(listing.spans) and len(places) == len(items)


def fields(
    data: bytes,
    outline: Outline,
    missing: list[tuple[str, list[KubeObject]]],
) -> Iterator[Chunk]:
    """Give fields to be added at the end of the top level."""
    line_break = newline(data)
    for name, items in missing:
        if outline.flow:
            yield b', "%b": %b' % (name.encode(), _flow_list(items))
            continue
        if not data[: outline.end].endswith(b"\n"):
            yield line_break
        empty = b" []"
        if items:
            empty = b""
        yield b"%b:%b%b" % (name.encode(), empty, line_break)
        for item in items:
            yield framed(item, 0, line_break)


def newline(data: bytes) -> bytes:
    """Give the line break of a text: that of its first line."""
    first = data.find(b"\n")
    if first > 0 and data[first - 1 : first] == b"\r":
        return b"\r\n"
    return b"\n"


def framed(
    item: KubeObject,
    column: int | None,
    line_break: bytes,
) -> bytes:
    """Give an object's text as an entry of a list at `column`, or as a document (None)."""
    # It has the frame of this list already.
    if item.column == column and item.column is not None:
        return item.span
    if item.column is None:
        text = _MARKERS.sub(b"", item.span)
    else:
        text = _undashed(item.span, item.column + 2)
    if column is not None:
        text = _dashed(text, column)
    # Mixed line breaks are somebody's own, and stay.
    if line_break == b"\n" or b"\r\n" in text:
        return text
    return text.replace(b"\n", line_break)


def _lines(pieces: Iterable[Chunk], line_break: bytes) -> Iterator[Chunk]:
    """Put a line break between pieces where there is none."""
    ended = True
    for piece in pieces:
        if not ended:
            yield line_break
        yield piece
        ended = piece[-1:] == b"\n"


def _flow_list(items: list[KubeObject]) -> bytes:
    return b"[%b]" % b", ".join([_inline(item) for item in items])


def _inline(item: KubeObject) -> bytes:
    """Give an object in flow style: its own text if it is written so, without what surrounds it."""
    text = item.span.strip()
    # The text of JSON is flow style in YAML, too.
    if item.column is None and text.startswith(b"{"):
        return text
    return writer.flow(nodes.value(item.node)).encode()


def _dashed(text: bytes, column: int) -> bytes:
    """Indent a document so that it is an entry of a list; comments above it stay above the dash."""
    body_start = end_of(_HEADING, text, 0)
    pad = b" " * column
    body = _indented(text[body_start:], pad + b"  ")
    # The dash and its blank take the place of the first line's indentation.
    entry = pad + b"- " + body[column + 2 :]
    return _indented(text[:body_start], pad) + entry


def _indented(text: bytes, pad: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    # An empty line gets no blanks.
    for number, line in enumerate(lines):
        if line.strip(b"\r\n"):
            lines[number] = pad + line
    return b"".join(lines)


def _undashed(text: bytes, columns: int) -> bytes:
    """Take dash and indentation away."""
    # `- name: x` becomes `  name: x`, so that all lines of the entry are indented alike.
    text = re.sub(rb"(?m)^( {%d})-(?= |\r?$)" % (columns - 2), rb"\1 ", text, count=1)
    # A line that is indented less, such as one of a quoted text, loses what it has.
    return re.sub(rb"(?m)^ {1,%d}" % columns, b"", text)
