"""A stream of documents.

What the exec-plugin protocol of kustomize hands over, and what a file holds.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from krm_windows.krm import writer
from krm_windows.krm.errors import InputError
from krm_windows.krm.frames import Documents, newline
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.nodes import Mapping, Scalar, Sequence, value
from krm_windows.krm.resource_list import ResourceList, check_encoding

# Three dashes at the beginning of a line; `---x` is a text.
_MARKER = re.compile(rb"(?:^|(?<=\n))---(?=[ \t\r\n]|\Z)")
# A comment is taken whole (`*+`): a line end of two characters could be shared in two ways, for
# each line.
_LINE = rb"(?:---|\.\.\.)?[ \t]*+(?:#[^\n]*+)?"
_NOTHING = re.compile(rb"(?:\xef\xbb\xbf)?(?:%b\r?\n)*%b\Z" % (_LINE, _LINE))

# What may be a list: most documents are none, and are not read for it. `listKind: WindowList` of a
# definition is none either.
_MARK = re.compile(rb"""(?<![A-Za-z])kind["']?\s*:\s*["']?[A-Za-z]*List\b""")
_SUFFIX = "List"
_ITEMS = "items"


def documents(data: bytes) -> list[KubeObject]:
    """Give the objects of a stream, each with the marker and the comments above it.

    Documents that are empty are none. A document is parsed when it is first needed. Raises
    InputError where `data` is not UTF-8.
    """
    check_encoding(data)
    # A marker begins a document: where one begins the last one ends.
    bounds = [match.start() for match in _MARKER.finditer(data)]
    # What is above the first marker is a document, or else comments of the first one.
    if bounds and _NOTHING.match(data[: bounds[0]]):
        bounds[0] = 0
    else:
        bounds.insert(0, 0)
    bounds.append(len(data))
    objects = []
    for start, end in pairwise(bounds):
        if not _NOTHING.match(data[start:end]):
            objects.append(KubeObject(data, start, end))
    return objects


class Entry(KubeObject):
    """An entry of a list: its places are those in the file, and its text is one of its own.

    `within` is its path in the document. An edit of its text changes no file.
    """

    __slots__ = ("_entry", "within")

    def __init__(self, document: KubeObject, entry: Mapping, within: tuple[str | int, ...]) -> None:
        super().__init__(document.source, document.start, document.end, file=document.file)
        self._node = self._entry = entry
        self.within = within

    @property
    def span(self) -> bytes:
        """The text as that of an object of its own."""
        return self._decoded().encode()

    def as_read(self) -> KubeObject:
        """Give the object as it was read, before any edit."""
        return Entry(self, self._entry, self.within)

    def _decoded(self) -> str:
        if self._text is None:
            return writer.render(value(self._entry))
        return self._text


def opened(data: bytes) -> list[KubeObject]:
    """Give the objects of a stream, those of lists one by one, as kustomize opens them.

    kustomize (api/resource, `inlineAnyEmbeddedLists`) puts the entries of `items` in the place of
    every object whose kind ends in `List`, in lists of lists too, and each entry needs a kind.
    Raises InputError where `data` is not UTF-8, and where what may be a list cannot be read.
    """
    found: list[KubeObject] = []
    for document in documents(data):
        if _MARK.search(data, document.start, document.end):
            found += _within(document, document, ())
        else:
            found.append(document)
    return found


def _within(
    document: KubeObject, item: KubeObject, within: tuple[str | int, ...]
) -> Iterator[KubeObject]:
    """Yield an object, or in its place all that are in it."""
    entries = item.node.find(_ITEMS) if item.kind.endswith(_SUFFIX) else None
    if isinstance(entries, Sequence):
        for index, entry in enumerate(entries.items):
            if not isinstance(entry, Mapping):
                line = document.lines_above + entry.line
                raise InputError("an object must be a mapping", line, entry.column)
            place = (*within, _ITEMS, index)
            yield from _within(document, Entry(document, entry, place), place)
    # Null is a list without entries. An object without that field is no list, whatever its kind is
    # called; one with another value of it is for kustomize to refuse.
    elif entries is None or not isinstance(entries, Scalar) or value(entries) is not None:
        yield item


def read(config: bytes, data: bytes) -> ResourceList:
    """Take a configuration and a stream as the ResourceList that they are to a function."""
    check_encoding(config)
    check_encoding(data)
    return ResourceList(documents(data), KubeObject.parse(config), frame=Documents(newline(data)))
