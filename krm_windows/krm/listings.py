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

# An empty list or null behind a colon.
# The blank before a comment is a part of it: `items:# why` is a text to YAML.
_EMPTY = re.compile(rb"\A[ \t]*(?:\[[ \t]*\]|null|~|(?=[\r\n]|\Z))")
# What is between the last entry of a flow sequence and its end.
_BRACKET = re.compile(rb"[ \t\r\n,]*+(?:#[^\n]*+\n[ \t\r\n,]*+)*+\]")
# Comments and blank lines above an entry.
_HEADING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*")
# A byte order mark, markers of documents on a line of their own, and one before a node (`--- {}`).
_MARKS = (b"---", b"...", b"\xef\xbb\xbf")
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

    `flow` is the style of a list that is made anew.
    """
    if not items:
        return iter([_emptied(data, field, listing)])
    if listing.spans:
        if listing.column is None:
            return _in_flow(data, field, listing, items)
        return _in_block(data, field, listing, listing.column, items)
    if flow:
        return iter([b" " + _flow_list(items)])
    return _filled(data, field, items)


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
    text = _document(item)
    if column is not None:
        text = _dashed(text, column)
    # Mixed line breaks are somebody's own, and stay.
    if line_break == b"\n" or b"\r\n" in text:
        return text
    return text.replace(b"\n", line_break)


def _document(item: KubeObject) -> bytes:
    """Give an object's text as a document of its own, without a marker."""
    if item.column is None:
        return _unmarked(item.span)
    return _undashed(item.span, item.column + 2)


def _unmarked(text: bytes) -> bytes:
    """Give a document without a byte order mark and without markers."""
    # Hardly any has one, and to look for a text takes no time.
    if text.startswith(_MARKS) or any(b"\n" + mark in text for mark in _MARKS):
        return _MARKERS.sub(b"", text)
    return text


def _in_block(
    data: bytes,
    field: Field,
    listing: Listing,
    column: int,
    items: list[KubeObject],
) -> Iterator[Chunk]:
    """Give a block sequence; what is above its first entry and below its last one stays."""
    view = memoryview(data)
    yield view[field.start : listing.spans[0][0]]
    yield from _lines(_runs(data, items, column), newline(data))
    yield view[listing.spans[-1][1] : field.end]


def _runs(
    data: bytes,
    items: list[KubeObject],
    column: int,
) -> Iterator[Chunk]:
    """Give the items in order, neighbours of the input in one piece."""
    view = memoryview(data)
    start = end = 0
    for item in items:
        # What nobody edited is a piece of the input, together with its neighbours.
        if item.source is data and not item.edited:
            # Right behind the one before: one longer piece.
            if item.start == end:
                end = item.end
                continue
            if end > start:
                yield view[start:end]
            start, end = item.start, item.end
            continue
        if end > start:
            yield view[start:end]
        start = end = 0
        yield framed(item, column, newline(data))
    if end > start:
        yield view[start:end]


def _lines(pieces: Iterable[Chunk], line_break: bytes) -> Iterator[Chunk]:
    """Put a line break between pieces where there is none."""
    ended = True
    for piece in pieces:
        if not ended:
            yield line_break
        yield piece
        ended = piece[-1:] == b"\n"


def _in_flow(
    data: bytes,
    field: Field,
    listing: Listing,
    items: list[KubeObject],
) -> Iterator[Chunk]:
    """Give a flow sequence; what was between two neighbours stays there."""
    # Which entry of the input an item is, if it is one.
    numbers = {span: index for index, span in enumerate(listing.spans)}
    yield data[field.start : listing.spans[0][0]]
    previous: int | None = None
    for position, item in enumerate(items):
        # Only of this very input: of another one a place says nothing.
        number = None
        if item.source is data:
            number = numbers.get((item.start, item.end))
        if previous is not None and number == previous + 1:
            yield data[listing.spans[previous][1] : item.start]
        elif position:
            yield b", "
        yield _inline(item)
        previous = number
    yield data[listing.spans[-1][1] : field.end]


def _filled(
    data: bytes,
    field: Field,
    items: list[KubeObject],
) -> Iterator[Chunk]:
    """Give items where there was an empty list or null; a comment behind it stays."""
    line_break = newline(data)
    # Behind `items: []  # comment` only the comment is left.
    text = _EMPTY.sub(b"", data[field.start : field.end], count=1)
    # What was on the line of the key stays there, the rest goes below the items.
    line, _, rest = text.partition(b"\n")
    yield line.rstrip(b"\r") + line_break
    yield from _lines((framed(item, 0, line_break) for item in items), line_break)
    yield rest


def _emptied(data: bytes, field: Field, listing: Listing) -> bytes:
    """Give an empty list; one that is there already stays as it is."""
    if not listing.spans:
        text = data[field.start : field.end]
        # A bracket in a comment is none.
        has_brackets = b"[" in text.split(b"#")[0]
        if has_brackets:
            return text
        return b" []" + _EMPTY.sub(b"", text, count=1)
    rest = data[listing.spans[-1][1] : field.end]
    if listing.column is None:
        bracket = _BRACKET.match(rest)
        if bracket:
            rest = rest[bracket.end() :]
        return b" []" + rest
    # A comment behind `items:` stays on its line.
    line, _, _ = data[field.start : listing.spans[0][0]].partition(b"\n")
    return b" []" + line.rstrip(b"\r") + newline(data) + rest


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
