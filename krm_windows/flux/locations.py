"""Where an object is in the repository: the file, and the document in it as it was written."""

from typing import NamedTuple

from krm_windows.flux.closure import joined, kustomization_file
from krm_windows.flux.model import Object
from krm_windows.flux.objects import readable
from krm_windows.inventory import ORIGIN, origin_file
from krm_windows.krm import Entry, KubeObject
from krm_windows.system.checkout import Checkout

_SEPARATOR = b"\n---"


class Written(NamedTuple):
    """What an object was made of: a file, and the document there with its number, from 0.

    The document is None where the object was generated.
    """

    file: str
    document: KubeObject | None = None
    number: int = 0


class Locator:
    """Finds what objects were made of in a tree that does not change meanwhile.

    A file is read once, however many of its objects are looked for.
    """

    def __init__(self, tree: Checkout) -> None:
        """Look in a tree."""
        self._tree = tree
        self._files: dict[str, _Documents] = {}

    def locate(self, item: Object) -> Written:
        """Return what an object was made of."""
        if item.made_by is not None:
            return self.locate(item.made_by)
        file = item.file or self._origin(item)
        if file not in self._files:
            self._files[file] = _documents(self._tree.read(file) or b"")
        documents = self._files[file]
        nearest = documents.nearest(item)
        if nearest is None:
            return Written(file)
        return Written(file, nearest, documents.numbers[nearest.start])

    def _origin(self, item: Object) -> str:
        """Return the file that kustomize notes, or the kustomization that was built."""
        noted = origin_file(item.text("metadata", "annotations", ORIGIN))
        if noted:
            return joined(item.directory, noted)
        return kustomization_file(self._tree, item.directory) or item.directory


class _Documents(NamedTuple):
    """The documents of a file: by the lines above each, by kind and name, and by kind in order.

    `numbers` has the number of each by where it starts.
    """

    by_line: dict[int, KubeObject]
    by_name: dict[tuple[str, str], KubeObject]
    by_kind: dict[str, list[tuple[str, KubeObject]]]
    numbers: dict[int, int]

    def nearest(self, item: Object) -> KubeObject | None:
        """Return what an object was most likely made of, None if nothing has its kind.

        kustomize may have changed the name, mostly by putting something before or behind it. A
        patch may change it, too, but hardly ever the kind.
        """
        # The very line of the file, where the object was taken from it as it is.
        if item.file:
            there = self.by_line.get(item.lines_above)
            if there is not None and there.kind == item.kind:
                return there
        if (item.kind, item.name) in self.by_name:
            return self.by_name[item.kind, item.name]
        named = self.by_kind.get(item.kind, [])
        for name, document in named:
            if name and name in item.name:
                return document
        for _, document in named:
            return document
        return None


def _documents(content: bytes) -> _Documents:
    found = _Documents({}, {}, {}, {})
    number = end = 0
    for document in readable(content):
        # Each of those before it ends at a line `---`, of which the line feed may be the last byte
        # that was looked at.
        number += content.count(_SEPARATOR, max(end - len(_SEPARATOR) + 1, 0), document.start)
        end = document.start
        found.numbers[end] = number
        # The entries of a list have the lines of the list above them, and so one place.
        if not isinstance(document, Entry):
            found.by_line[document.lines_above] = document
        found.by_name.setdefault((document.kind, document.name), document)
        found.by_kind.setdefault(document.kind, []).append((document.name, document))
    return found
