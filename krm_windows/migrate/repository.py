"""The repository as it is read: its documents by file, its kustomizations by directory."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import InputError
from krm_windows.migrate import heuristics, trees
from krm_windows.migrate.trees import Document, Location
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES


@dataclass(frozen=True)
class Repository:
    """The files of a directory, by path relative to it."""

    contents: Mapping[str, bytes]

    _read: dict[str, tuple[Document, ...] | InputError] = field(default_factory=dict)

    @cached_property
    def unreadable(self) -> dict[Location, str]:
        """Files with words of windows that are no YAML: where the error is, and what it is."""
        found = {}
        for path, content in self.contents.items():
            # Templates of Grafana and the like are JSON, and no manifests.
            if path.endswith(".json") or not heuristics.may_suspend(content):
                continue
            error = self._file(path)
            if isinstance(error, InputError):
                found[Location(path, max(error.line, 1))] = error.message
        return found

    @cached_property
    def kustomizations(self) -> dict[str, Document]:
        """The kustomization of each directory that has one."""
        kustomizations = {}
        for path in self.contents:
            directory, name = posixpath.split(path)
            if name not in KUSTOMIZATIONS:
                continue
            found = self.documents(path)
            if found:
                # kustomize takes one document; a second one is its error to report.
                kustomizations[directory] = found[0]
        return kustomizations

    def documents(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file; none where it is not there, or cannot be read."""
        found = self._file(path)
        if isinstance(found, InputError):
            return ()
        return found

    def _file(self, path: str) -> tuple[Document, ...] | InputError:
        """Return the documents of a file, or why it cannot be read; each file is read once."""
        if path not in self._read:
            content = self.contents.get(path, b"")
            try:
                self._read[path] = trees.read(path, content)
            except InputError as error:
                self._read[path] = error
        return self._read[path]

    def mentioning(self, word: str) -> Iterator[Document]:
        """Yield the documents of the files that have a word in their text."""
        for path in sorted(filter(_is_manifest, self.contents)):
            if self.mentions(path, word):
                yield from self.documents(path)

    def mentions(self, path: str, word: str) -> bool:
        """Whether a file has a word in its text."""
        return word.encode() in self.contents[path]

    def files_in(self, directory: str) -> list[str]:
        """Return the manifests right in a directory, but for its kustomization."""
        return self._manifests.get(directory, [])

    @cached_property
    def named(self) -> frozenset[str]:
        """Every path that a text of a kustomization may mean, or of a Flux Kustomization."""
        found: set[str] = set()
        for document in (*self.kustomizations.values(), *self.mentioning(KUSTOMIZE)):
            directory = posixpath.dirname(document.location.file)
            for each in trees.leaves(document.tree):
                # A text of several lines is a patch, and no path.
                if "\n" not in each.text:
                    found.add(resolve(directory, each.text))
        return frozenset(found)

    @cached_property
    def _manifests(self) -> dict[str, list[str]]:
        """The manifests by directory."""
        found: dict[str, list[str]] = {}
        for path in sorted(filter(_is_manifest, self.contents)):
            found.setdefault(posixpath.dirname(path), []).append(path)
        return found

    @cached_property
    def directories(self) -> frozenset[str]:
        """Every directory that holds a file, or a directory that does."""
        found: set[str] = set()
        for path in self.contents:
            found.update(parents(path))
        return frozenset(found)


def parents(path: str) -> Iterator[str]:
    """Yield the directories that a path is in, innermost first, the repository (`""`) last."""
    while path:
        path = posixpath.dirname(path)
        yield path


def _is_manifest(path: str) -> bool:
    return path.endswith(SUFFIXES) and posixpath.basename(path) not in KUSTOMIZATIONS


def resolve(directory: str, entry: str) -> str:
    """Return the path that an entry of a kustomization names, relative to the repository."""
    found = posixpath.normpath(posixpath.join(directory, entry))
    # The repository itself is an empty text here.
    if found == ".":
        return ""
    return found
