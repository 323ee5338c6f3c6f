"""The repository as it is read: its files, and where the objects of its clusters are written."""

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Kustomization, Object
from krm_windows.flux.objects import parsed, readable
from krm_windows.gateable import KUSTOMIZE, group_of
from krm_windows.krm import InputError, KubeObject, value
from krm_windows.migrate import heuristics
from krm_windows.system.checkout import Checkout
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A line of a file, counted from 1; the path is relative to the repository."""

    file: str
    line: int

    def __str__(self) -> str:
        """Write it as compilers do."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Written:
    """A document of a file."""

    file: str
    item: KubeObject

    def at(self, *path: str | int) -> Location:
        """Return where a value is written; where there is none, where the document begins."""
        node = self.item.node_at(*path) or self.item.node
        return Location(self.file, self.item.lines_above + node.line)

    @property
    def place(self) -> tuple[str, int]:
        """What makes it the same document."""
        return self.file, self.item.start


@dataclass(frozen=True)
class Document(Object):
    """An object as it is applied, and what says so."""

    applied_by: Kustomization | None = None

    origin: Written | None = None
    """The document that it was made of; None where it was generated."""

    patches: tuple[Written, ...] = ()
    """Other documents of its kind and name that its build reads."""

    @property
    def location(self) -> Location:
        """Where it begins."""
        return self.origin.at() if self.origin else Location(self.file, self.lines_above + 1)

    def at(self, *path: str | int) -> Location:
        """Return where a value of it is written: in the patch that says so, or in the document."""
        found = self.get(*path)
        for each in (*self.patches, *filter(None, [self.origin])):
            node = each.item.node_at(*path)
            if node is not None and value(node) == found:
                return each.at(*path)
        return self.location


@dataclass(frozen=True)
class Repository:
    """The files of a directory, by path relative to it."""

    tree: Checkout
    contents: Mapping[str, bytes]
    _patches: dict[str, list[Written]] = field(default_factory=dict)

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self.tree)

    def document(self, item: Object, applied_by: Kustomization) -> Document:
        """Return an object with where it is written; raises InputError where it cannot be read."""
        found = self._locator.locate(item)
        origin = Written(found.file, found.document) if found.document else None
        # A patch names its object as it was called before, or after, kustomize changed its name.
        names = {item.name, origin.item.name if origin else item.name}
        patches = [
            each
            for each in self._read_by(applied_by)
            if each.item.kind == item.kind
            and each.item.name in names
            and (origin is None or each.place != origin.place)
        ]
        # Now, so that whoever asks for a part of it meets no error.
        value(item.item.node)
        own = {**vars(item), "file": found.file or item.file}
        return Document(**own, applied_by=applied_by, origin=origin, patches=tuple(patches))

    def _read_by(self, applied: Kustomization) -> list[Written]:
        """Return the documents of the files that a Kustomization's build reads."""
        if applied.path not in self._patches:
            files = map(self.documents, sorted(applied.files))
            self._patches[applied.path] = list(chain.from_iterable(files))
        return self._patches[applied.path]

    def documents(self, path: str) -> list[Written]:
        """Return the documents of a file; none where it is not there, or cannot be read."""
        return [Written(path, item) for item in readable(self.contents.get(path, b""))]

    @cached_property
    def kustomizations(self) -> dict[str, Written]:
        """The kustomization of each directory that has one."""
        found: dict[str, Written] = {}
        for path in self.contents:
            directory, name = posixpath.split(path)
            # kustomize takes one document; a second one is its error to report.
            if name in KUSTOMIZATIONS:
                found.update((directory, each) for each in self.documents(path)[:1])
        return found

    def mentioning(self, *words: bytes) -> Iterator[Written]:
        """Yield the documents of the files that have some words: reading the others is dear."""
        for path, content in self.contents.items():
            if all(word in content for word in words):
                yield from self.documents(path)

    @cached_property
    def flux(self) -> list[Written]:
        """The Flux Kustomizations in files."""
        found = self.mentioning(KUSTOMIZE.encode())
        return [each for each in found if group_of(each.item.api_version) == KUSTOMIZE]

    @cached_property
    def unreadable(self) -> dict[Location, str]:
        """Files that may hold windows and are no YAML: where the error is, and what it is."""
        found = {}
        for path, content in self.contents.items():
            # Templates of Grafana and the like are JSON, and no manifests.
            if path.endswith(".json") or not has_job(content):
                continue
            try:
                parsed(content)
            except InputError as error:
                found[Location(path, max(error.line, 1))] = error.message
        return found

    @cached_property
    def manifests(self) -> dict[str, list[str]]:
        """The manifests right in each directory, but for its kustomization."""
        found: dict[str, list[str]] = {}
        for path in self.contents:
            directory, name = posixpath.split(path)
            if name.endswith(SUFFIXES) and name not in KUSTOMIZATIONS:
                found.setdefault(directory, []).append(path)
        return found

    @cached_property
    def directories(self) -> frozenset[str]:
        """Every directory that holds a file, or a directory that does."""
        found: set[str] = set()
        for path in self.contents:
            found.update(parents(path))
        return frozenset(found)


def has_job(content: bytes) -> bool:
    """Whether a file may hold a CronJob that makes windows, or a patch of one."""
    return b"CronJob" in content and heuristics.may_suspend(content)


def parents(path: str) -> Iterator[str]:
    """Yield the directories that a path is in, innermost first, the repository (`""`) last."""
    while path:
        path = posixpath.dirname(path)
        yield path


def resolve(directory: str, entry: str) -> str:
    """Return the path that an entry of a kustomization names, relative to the repository."""
    found = posixpath.normpath(posixpath.join(directory, entry))
    # The repository itself is an empty text here.
    return "" if found == "." else found
