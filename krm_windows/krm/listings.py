"""Listings: the entries of a list of the top level, written back in the style and at the column of that list.

Untouched neighbours are written as one piece of the input, without a copy.
"""

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from krm_windows.krm import nodes, writer
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.outline import Field, Listing, Outline

Chunk: TypeAlias = bytes | memoryview
Change: TypeAlias = tuple[int, int, Iterable[Chunk]]

_EMPTY = re.compile(rb"[ \t]*(?:\[[ \t]*\]|null|~)?")
_HEADING = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*")
_MARKERS = re.compile(
    rb"(?m)\A\xef\xbb\xbf|^(?:---|\.\.\.)[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)|^---[ \t]+"
)


def objects(data: bytes, listing: Listing) -> list[KubeObject]:
    """Give the entries of a list as objects."""
    return [
        KubeObject(
            data,
            start,
            end,
            column=listing.column,
            reaching=index in listing.reaching,
            json=listing.json,
        )
        for index, (start, end) in enumerate(listing.spans)
    ]


def chunks(
    data: bytes, field: Field, listing: Listing, items: list[KubeObject], *, flow: bool
) -> Iterator[Chunk]:
    """Give the bytes behind a field's colon with these items in place of the ones that stand there."""
    if listing.spans and listing.column is None and items:
        yield from _flow(data, field, listing, items)
    elif listing.spans and items:
        view = memoryview(data)
        yield view[field.start : listing.spans[0][0]]
        yield from _lines(_runs(data, items, listing.column or 0), newline(data))
        yield view[listing.spans[-1][1] : field.end]
    elif items and flow:
        yield b" [%b]" % b", ".join(_inline(item) for item in items)
    elif items:
        yield from _filled(data, field, items)
    else:
        yield _emptied(data, field, listing)


def fields(
    data: bytes, outline: Outline, missing: list[tuple[str, list[KubeObject]]]
) -> Iterator[Chunk]:
    """Give fields to be added at the end of the top level."""
    for name, items in missing:
        if outline.flow:
            yield b', "%b": [%b]' % (name.encode(), b", ".join(_inline(item) for item in items))
            continue
        if not data[: outline.end].endswith(b"\n"):
            yield newline(data)
        yield b"%b:%b" % (name.encode(), b"" if items else b" []") + newline(data)
        yield from (framed(item, 0, newline(data)) for item in items)


def newline(data: bytes) -> bytes:
    """Give the line break of a text: that of its first line."""
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"


def framed(item: KubeObject, column: int | None, line_break: bytes) -> bytes:
    """Give an object's text as an entry of a list whose dashes stand at `column`, or as a document (None)."""
    text = item.span
    if item.column == column and item.column is not None:
        return text
    text = _MARKERS.sub(b"", text) if item.column is None else _undashed(text, item.column + 2)
    if column is not None:
        text = _dashed(text, column)
    return text if line_break == b"\n" or b"\r\n" in text else text.replace(b"\n", line_break)


def _runs(data: bytes, items: list[KubeObject], column: int) -> Iterator[Chunk]:
    """Give the items in order, neighbours of the input in one piece."""
    view = memoryview(data)
    start = end = 0
    for item in items:
        untouched = item.source is data and not item.edited
        if untouched and item.start == end:
            end = item.end
            continue
        if end > start:
            yield view[start:end]
        start, end = (item.start, item.end) if untouched else (0, 0)
        if not untouched:
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


def _flow(data: bytes, field: Field, listing: Listing, items: list[KubeObject]) -> Iterator[Chunk]:
    """Give a flow sequence; what stood between two neighbours stays there."""
    numbers = {span: index for index, span in enumerate(listing.spans)}
    yield data[field.start : listing.spans[0][0]]
    previous: int | None = None
    for position, item in enumerate(items):
        number = numbers.get((item.start, item.end)) if item.source is data else None
        if previous is not None and number == previous + 1:
            yield data[listing.spans[previous][1] : item.start]
        elif position:
            yield b", "
        yield _inline(item)
        previous = number
    yield data[listing.spans[-1][1] : field.end]


def _filled(data: bytes, field: Field, items: list[KubeObject]) -> Iterator[Chunk]:
    """Give items where there was an empty list or null; a comment behind it stays."""
    line, _, rest = _EMPTY.sub(b"", data[field.start : field.end], count=1).partition(b"\n")
    yield line.rstrip(b"\r") + newline(data)
    yield from _lines((framed(item, 0, newline(data)) for item in items), newline(data))
    yield rest


def _emptied(data: bytes, field: Field, listing: Listing) -> bytes:
    """Give an empty list; one that is there already stays as it is."""
    if not listing.spans:
        text = data[field.start : field.end]
        return text if b"[" in text.split(b"#")[0] else b" []" + _EMPTY.sub(b"", text, count=1)
    if listing.column is None:
        return b" []"
    line = data[field.start : listing.spans[0][0]].partition(b"\n")[0].rstrip(b"\r")
    return b" []" + line + newline(data) + data[listing.spans[-1][1] : field.end]


def _inline(item: KubeObject) -> bytes:
    """Give an object in flow style: its own text if it is written so, without what surrounds it."""
    text = item.span.strip()
    return (
        text
        if item.column is None and text.startswith(b"{")
        else writer.flow(nodes.value(item.node)).encode()
    )


def _dashed(text: bytes, column: int) -> bytes:
    """Indent a document so that it is an entry of a list; comments above it stay above the dash."""
    heading = _HEADING.match(text)
    head = text[: heading.end()] if heading else b""
    pad = b" " * column
    body = _indented(text[len(head) :], pad + b"  ")
    return _indented(head, pad) + pad + b"- " + body[column + 2 :]


def _indented(text: bytes, pad: bytes) -> bytes:
    return b"".join(
        pad + line if line.strip(b"\r\n") else line for line in text.splitlines(keepends=True)
    )


def _undashed(text: bytes, columns: int) -> bytes:
    """Take dash and indentation away."""
    text = re.sub(rb"(?m)^( {%d})-(?= |\r?$)" % (columns - 2), rb"\1 ", text, count=1)
    return re.sub(rb"(?m)^ {1,%d}" % columns, b"", text)
