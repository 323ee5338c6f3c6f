"""What has to go before policies can take over: a list of steps for a person."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from posixpath import basename, dirname, join, normpath

from krm_windows import gateable
from krm_windows.flux import Object
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import ObjectIdentity
from krm_windows.flux.objects import readable
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import KubeObject
from krm_windows.migrate.jobs import ClusterJobs, is_one
from krm_windows.system.reading import KUSTOMIZATIONS

# What is between the words of a line of YAML.
_BETWEEN = re.compile(r"""[\s,\[\]{}'"]+""")


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """Something to do in a file; line 0 is the file as a whole."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        """Write it on one line."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.text}"


@dataclass(frozen=True)
class Removal:
    """The old windows of some clusters, and how they go.

    `contents` are files by path; `targets` are what the policies gate.
    """

    locator: Locator
    contents: Mapping[str, bytes]
    clusters: Sequence[ClusterJobs]
    targets: Collection[ObjectIdentity]

    @cached_property
    def _jobs(self) -> list[Object]:
        every = chain.from_iterable(each.jobs for each in self.clusters)
        return [job.item for job in every]

    @property
    def steps(self) -> list[Step]:
        """What to do, by file and line."""
        found = set(self._fields())
        for path, items in self._going.items():
            if path in self._gone:
                found.add(Step(path, 0, "delete it"))
            else:
                found.update(_step(path, item, f"remove {Object.of(item)}") for item in items)
        found.update(self._lines())
        return sorted(found)

    @cached_property
    def _applied(self) -> list[Object]:
        every = (each.cluster.objects.values() for each in self.clusters)
        return [item for _, item in chain.from_iterable(every)]

    def _written(self, items: Iterable[Object]) -> dict[tuple[str, int], KubeObject]:
        """Return the documents that objects were made of, by file and beginning."""
        found = map(self.locator.locate, items)
        return {(file, item.start): item for file, item, _ in found if item is not None}

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the CronJobs, also those they had before a prefix."""
        former = {each.name for each in self._written(self._jobs).values()}
        return frozenset(former | {each.name for each in self._jobs})

    @cached_property
    def _going(self) -> dict[str, list[KubeObject]]:
        """The documents of the CronJobs, and their patches, by file."""
        own = self._written(self._jobs)
        applied = self._written(each for each in self._applied if each.kind == "CronJob")
        going: dict[str, list[KubeObject]] = {}
        for path, content in self.contents.items():
            for item in readable(content) if b"CronJob" in content else ():
                place = (path, item.start)
                if place in own or (place not in applied and self._is_patch(item)):
                    going.setdefault(path, []).append(item)
        return going

    def _is_patch(self, item: KubeObject) -> bool:
        """Whether an object is a patch of one of the CronJobs: it has its name, and no command."""
        is_named = item.kind == "CronJob" and item.name in self._names
        return is_named and not is_one(Object.of(item))

    @cached_property
    def _gone(self) -> frozenset[str]:
        """The files of which nothing stays."""
        count = {path: len(readable(self.contents[path])) for path in self._going}
        return frozenset(path for path, items in self._going.items() if count[path] == len(items))

    def _fields(self) -> Iterator[Step]:
        """Yield what is to be done to targets: Git must not say whether they are suspended."""
        for item in self._applied:
            file, document, _ = self.locator.locate(item)
            row = gateable.find(item.kind, item.api_version)
            if row is None or document is None or item.identity not in self.targets:
                continue
            if document.get(*row.field) is False:
                yield _step(file, document, f"remove `{row.field[-1]}: false`", row.field)

    def _lines(self) -> Iterator[Step]:
        """Yield the lines of kustomizations, also those of Flux, that name what goes."""
        for path, content in self.contents.items():
            is_kustomization = basename(path) in KUSTOMIZATIONS or KUSTOMIZE.encode() in content
            if not is_kustomization or path in self._going:
                continue
            for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
                for word in _words(line):
                    if word in self._names or _resolved(dirname(path), word) in self._gone:
                        yield Step(path, number, f"take out what names {word}")

    def unapplied(self, used: Collection[str]) -> Iterator[str]:
        """Yield the kustomizations that lead to what goes, and are none of the `used` files."""
        listed: dict[str, set[str]] = {}
        for path, content in self.contents.items():
            if basename(path) in KUSTOMIZATIONS:
                words = _words(content.decode(errors="replace"))
                listed[path] = {_resolved(dirname(path), word) for word in words}
        leading = set(self._going)
        # Each round finds those that name one of the round before.
        while more := {path for path, named in listed.items() if named & leading} - leading:
            leading |= more | {dirname(path) for path in more}
        return (path for path in listed if path in leading and path not in used)


def _words(text: str) -> Iterator[str]:
    return filter(None, _BETWEEN.split(text))


def _step(file: str, item: KubeObject, text: str, path: Iterable[str] = ()) -> Step:
    node = item.node_at(*path) or item.node
    return Step(file, item.lines_above + node.line, text)


def _resolved(directory: str, entry: str) -> str:
    """Return the path that an entry of a kustomization names; the repository's own is empty."""
    found = normpath(join(directory, entry))
    return "" if found == "." else found
