"""Where an object is in the repository: the file, and the document in it as it was written."""

from typing import NamedTuple

from krm_windows.flux.closure import joined, kustomization_file
from krm_windows.flux.model import Object
from krm_windows.flux.objects import readable
from krm_windows.inventory import ORIGIN, origin_file
from krm_windows.krm import Entry, KubeObject
from krm_windows.system.checkout import Checkout


class Written(NamedTuple):
    """What an object was made of: a file, and the document there with its number, from 0.

    The document is None where the object was generated.
    """

    file: str
    document: KubeObject | None = None
    number: int = 0


_Documents = dict[tuple[str, str | int | None], list[Written]]
"""The documents of a file by their kind, and by that with their name, or the lines above them."""


class Locator:
    """Finds what objects were made of in a tree that does not change meanwhile.

    A file is read once, however many of its objects are looked for.
    """

    def __init__(self, tree: Checkout) -> None:
        """Look in a tree."""
        self._tree = tree
        self._files: dict[str, _Documents] = {}

    def locate(self, item: Object) -> Written:
        """Return what an object was most likely made of.

        kustomize may have changed the name, mostly by putting something before or behind it. A
        patch may change it, too, but hardly ever the kind.
        """
        if item.made_by is not None:
            return self.locate(item.made_by)
        file = item.file or self._origin(item)
        if file not in self._files:
            self._files[file] = _documents(file, self._tree.read(file) or b"")
        documents = self._files[file]
        # The very line of the file, where the object was taken from it as it is.
        line = item.lines_above if item.file else -1
        for key in ((item.kind, line), (item.kind, item.name)):
            if key in documents:
                return documents[key][0]
        alike = documents.get((item.kind, None), [Written(file)])
        named = (each for each in alike if each.document and each.document.name in item.name)
        return next(named, alike[0])

    def _origin(self, item: Object) -> str:
        """Return the file that kustomize notes, or the kustomization that was built."""
        noted = origin_file(item.text("metadata", "annotations", ORIGIN))
        if noted:
            return joined(item.directory, noted)
        return kustomization_file(self._tree, item.directory) or item.directory


def _documents(file: str, content: bytes) -> _Documents:
    found: _Documents = {}
    for number, document in enumerate(readable(content)):
        written = Written(file, document, number)
        keys: list[str | int | None] = [None, document.name]
        # The entries of a list have the lines of the list above them, and so one place.
        if not isinstance(document, Entry):
            keys.append(document.lines_above)
        for key in keys:
            found.setdefault((document.kind, key), []).append(written)
    return found
