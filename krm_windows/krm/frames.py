"""Frames: what is around the items of an input, and how they are written back.

What nobody edited is a piece of the input, without a copy.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeAlias

from krm_windows.krm import writer
from krm_windows.krm.edits import canonical
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.nodes import Value
from krm_windows.krm.outline import Listing, Span, is_null
from krm_windows.results import Result

Chunk: TypeAlias = bytes | memoryview

# A byte order mark, markers of documents on a line of their own, and one before a node (`--- {}`).
_MARKERS = re.compile(
    rb"(?m)^(?:\A\xef\xbb\xbf|(?:---|\.\.\.)[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)|---[ \t]+)"
)


class Frame(Protocol):
    """What is around the items."""

    def chunks(self, items: list[KubeObject], results: list[Result]) -> Iterator[Chunk]:
        """Give the output, piece by piece."""


class Documents(NamedTuple):
    """Objects as documents of one stream; results have no place in it."""

    line_break: bytes = b"\n"

    def chunks(
        self,
        items: list[KubeObject],
        results: list[Result],  # noqa: ARG002
    ) -> Iterator[Chunk]:
        """Give the documents with a marker between them."""
        ended = True
        for index, item in enumerate(items):
            text = item.span
            if not ended:
                yield self.line_break
            # A document that came with its marker has it in its text.
            if index and not text.startswith(b"---"):
                yield b"---" + self.line_break
            yield text
            ended = text.endswith(b"\n")


class Envelope(NamedTuple):
    """The document of a ResourceList as orchestrators write it: every field as it came."""

    data: bytes
    fields: dict[str, Span]
    lists: dict[str, Listing]

    def chunks(self, items: list[KubeObject], results: list[Result]) -> Iterator[Chunk]:
        """Give the document with these items, and with the results behind those that it had."""
        view = memoryview(self.data)
        written = {"items": items}
        if results:
            earlier = objects(self.data, self.lists.get("results", Listing()))
            written["results"] = [*earlier, *(KubeObject.from_value(it.value()) for it in results)]
        place = 0
        # `results` may be above `items`: the document is written from its top to its end.
        for name, (start, end) in self.fields.items():
            if name in written:
                yield view[place:start]
                yield from self._list(start, end, self.lists[name], written.pop(name))
                place = end
        end = max(end for _, end in self.fields.values())
        yield view[place:end]
        # Fields that the document does not have are put behind its last one.
        for name, every in written.items():
            if self.data[end - 1 : end] != b"\n":
                yield newline(self.data)
            yield name.encode() + b":"
            yield from self._list(end, end, Listing(), every)
        yield view[end:]

    def _list(
        self, start: int, end: int, earlier: Listing, items: list[KubeObject]
    ) -> Iterator[Chunk]:
        """Give the bytes behind a field's colon with these items in place of those there."""
        view, line_break = memoryview(self.data), newline(self.data)
        if items:
            first, last = start, end
            if earlier.spans:
                # What is above the first entry and below the last one stays.
                first, last = earlier.spans[0][0], earlier.spans[-1][1]
                yield view[start:first]
            else:
                yield line_break
            ended = True
            for item in items:
                if not ended:
                    yield line_break
                piece = self._entry(item, earlier.column)
                yield piece
                ended = piece[-1:] == b"\n"
            # Another field may follow.
            if not ended and not earlier.spans:
                yield line_break
            yield view[last:end]
        elif earlier.spans or is_null(self.data, (start, end)):
            # As the field may be the last, its line has to end.
            yield b" []" + line_break
        else:
            yield view[start:end]

    def _entry(self, item: KubeObject, column: int) -> Chunk:
        """Give an item as an entry at a column; what nobody edited is a piece of the input."""
        if item.column == column:
            if item.source is self.data and not item.edited:
                return memoryview(self.data)[item.start : item.end]
            return item.span
        pad = b" " * (column + 2)
        every = document(item).split(b"\n")
        text = b"\n".join([pad + line if line.rstrip(b"\r") else line for line in every])
        # The dash and its blank take the place of the indentation of the first line with content.
        text = re.sub(rb"(?m)^( {%d})  (?=[^\s#])" % column, rb"\1- ", text, count=1)
        # Mixed line breaks are somebody's own, and stay.
        return text if b"\r\n" in text else text.replace(b"\n", newline(self.data))


class Whole(NamedTuple):
    """A ResourceList in another layout, such as JSON.

    It comes out as it came, or is written anew where anything in it differs.
    """

    data: bytes
    content: dict[str, Value]
    flow: bool

    def chunks(self, items: list[KubeObject], results: list[Result]) -> Iterator[Chunk]:
        """Give the document with these items, and with the results behind those that it had."""
        content: dict[str, object] = {**self.content, "items": [item.get() for item in items]}
        earlier = self.content.get("results") or []
        # What is no list is not ours to change.
        if results and isinstance(earlier, list):
            content["results"] = [*earlier, *(result.value() for result in results)]
        if canonical(content) == canonical(self.content):
            yield self.data
        elif self.flow:
            yield writer.flow(content).encode() + b"\n"
        else:
            yield writer.render(content).encode()


def objects(data: bytes, found: Listing) -> list[KubeObject]:
    """Give the entries of a list as objects."""
    return [KubeObject(data, *span, column=found.column) for span in found.spans]


def document(item: KubeObject) -> bytes:
    """Give an object's text as a document without markers; an entry of a list is written anew."""
    if item.column is None:
        return _MARKERS.sub(b"", item.span)
    return writer.render(item.get()).encode()


def newline(data: bytes) -> bytes:
    """Give the line break of a text: that of its first line."""
    first = data.find(b"\n")
    return b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"
