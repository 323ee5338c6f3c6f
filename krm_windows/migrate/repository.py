"""The repository as it is read: its documents by file, its kustomizations by directory, and what cannot be read."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from krm_windows.krm import InputError
from krm_windows.migrate import trees
from krm_windows.migrate.selectors import Selectors
from krm_windows.migrate.trees import Document, Leaf, Map, Place
from krm_windows.workspace.reading import KUSTOMIZATIONS, SUFFIXES

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
        """Files that are no YAML, each with the place of the trouble and what it is."""
        found = ((path, self._file(path)) for path in self.contents if not path.endswith(".json"))
        return {Place(path, max(why.line, 1)): why.message for path, why in found if isinstance(why, InputError)}

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

    def manifests(self, directory: str) -> Iterator[Document]:
        """Yield the objects of the files right in a directory, but for its kustomization."""
        for path in self._manifests.get(directory, ()):
            yield from (found for found in self.documents(path) if found.kind)

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


def is_remote(entry: str) -> bool:
    """Whether an entry of a kustomization names something outside of the repository."""
    return "://" in entry or "?" in entry or entry.startswith(("git@", "github.com/")) or "//" in entry


def entries(kustomization: Map, *names: str) -> Iterator[Leaf]:
    """Yield the entries of some fields of a kustomization that are plain paths."""
    for name in names:
        yield from (entry for entry in trees.items(kustomization, name) if isinstance(entry, Leaf))
