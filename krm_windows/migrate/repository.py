"""The repository as it is read: its documents by file, its kustomizations by directory, and what cannot be read."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import InputError
from krm_windows.migrate import shapes, trees
from krm_windows.migrate.selectors import Selectors
from krm_windows.migrate.trees import Document, Leaf, Map, Place
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES

RESOURCES = ("resources", "bases", "components")


@dataclass(frozen=True)
class Repository:
    """The files of a directory, by path relative to it."""

    contents: Mapping[str, bytes]

    selectors: Selectors = field(default_factory=Selectors)
    """What the selectors of its patches match."""

    _read: dict[str, tuple[Document, ...] | InputError] = field(default_factory=dict)

    @cached_property
    def unreadable(self) -> dict[Place, str]:
        """Files with words of windows that are no YAML, each with the place of the trouble and what it is."""
        every = (path for path, content in self.contents.items() if shapes.may_turn(content))
        found = ((path, self._file(path)) for path in every if not path.endswith(".json"))
        return {
            Place(path, max(why.line, 1)): why.message
            for path, why in found
            if isinstance(why, InputError)
        }

    @cached_property
    def kustomizations(self) -> dict[str, Document]:
        """The kustomization of each directory that has one."""
        return {
            posixpath.dirname(path): found[0]
            for path in self.contents
            if posixpath.basename(path) in KUSTOMIZATIONS and (found := self.documents(path))
        }

    def documents(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file; none where it is no file of the repository, or cannot be read."""
        found = self._file(path)
        return () if isinstance(found, InputError) else found

    def _file(self, path: str) -> tuple[Document, ...] | InputError:
        if path not in self._read:
            try:
                self._read[path] = trees.read(path, self.contents.get(path, b""))
            except InputError as error:
                self._read[path] = error
        return self._read[path]

    def mentioning(self, *words: str) -> Iterator[Document]:
        """Yield the documents of the files that have any of some words in their text."""
        for path in sorted(filter(_is_manifest, self.contents)):
            if any(self.mentions(path, word) for word in words):
                yield from self.documents(path)

    def mentions(self, path: str, word: str) -> bool:
        """Whether a file has a word in its text."""
        return word.encode() in self.contents[path]

    def files_in(self, directory: str) -> list[str]:
        """Return the manifests right in a directory, but for its kustomization."""
        return self._manifests.get(directory, [])

    @cached_property
    def named(self) -> frozenset[str]:
        """Every path that a kustomization, or the patches of a Flux Kustomization, may mean by any of its texts."""
        every = [*self.kustomizations.values(), *self.mentioning(KUSTOMIZE)]
        found = (
            (posixpath.dirname(each.place.file), leaf.text)
            for each in every
            for leaf in trees.leaves(each.tree)
        )
        return frozenset(resolve(directory, text) for directory, text in found if "\n" not in text)

    @cached_property
    def _manifests(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sorted(filter(_is_manifest, self.contents)):
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    def text(self, path: str) -> str | None:
        """Return the text of a file, None where there is none."""
        return self.contents[path].decode("utf-8-sig") if path in self.contents else None

    @cached_property
    def directories(self) -> frozenset[str]:
        """Every directory that holds a file, or a directory that does."""
        return frozenset(above for path in self.contents for above in parents(path))


def parents(path: str) -> Iterator[str]:
    """Yield the directories that a path is in, innermost first; the last one is the repository, an empty text."""
    while path:
        path = posixpath.dirname(path)
        yield path


def _is_manifest(path: str) -> bool:
    return path.endswith(SUFFIXES) and posixpath.basename(path) not in KUSTOMIZATIONS


def resolve(directory: str, entry: str) -> str:
    """Return the path that an entry of a kustomization names, relative to the repository."""
    found = posixpath.normpath(posixpath.join(directory, entry))
    return "" if found == "." else found


def entries(kustomization: Map, *names: str) -> Iterator[Leaf]:
    """Yield the entries of some fields of a kustomization that are plain paths."""
    for name in names:
        yield from (entry for entry in trees.items(kustomization, name) if isinstance(entry, Leaf))
