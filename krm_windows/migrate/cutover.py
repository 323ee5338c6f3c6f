"""The kustomizations without the hand-written windows: the repository as it is to be.

Only kustomizations that list something of the old windows are written, edited where they are.
Everything else of the repository stays. A file that holds other objects too is named instead, and
so is a kustomization with nothing left.
"""

import posixpath
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from krm_windows import rules
from krm_windows.flux import selectors
from krm_windows.flux.model import Identity
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import InputError, documents
from krm_windows.migrate import jobs, removals, trees
from krm_windows.migrate.clusters import AppliedDirectory
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.repository import Repository, resolve
from krm_windows.migrate.trees import Document, Leaf, Location, Map, Tree, leaf, text
from krm_windows.results import Result

_LISTS = ("resources", "bases")
# Fields of a kustomization that hold patches, two of them deprecated (kustomize api/types).
_PATCHES = ("patchesStrategicMerge", "patches", "patchesJson6902")
# The fields of a kustomization that make objects.
_CONTENT = frozenset(
    {
        "resources",
        "bases",
        "components",
        "generators",
        "helmCharts",
        "configMapGenerator",
        "secretGenerator",
    }
)

# A path in a document, to what is removed there.
_Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Cutover:
    """A repository's files after policies took the place of the CronJobs of some clusters."""

    repository: Repository
    gatings: Sequence[Gating]

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The kustomizations as they are to be, by path."""
        paths = {each.location.file for each in self.repository.kustomizations.values()}
        paths.update(location.file for location in self._suspensions)
        for path in self.repository.contents:
            if self.repository.mentions(path, KUSTOMIZE):
                paths.add(path)
        found = {}
        for path in sorted(paths):
            content = self._edited(path)
            if content is not None:
                found[path] = content
        return found

    @cached_property
    def obsolete(self) -> tuple[str, ...]:
        """The files that nothing refers to any more."""
        emptied = {self.repository.kustomizations[path].location.file for path in self._emptied}
        return tuple(sorted({*self._removed_files, *emptied, *self._patch_files}))

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """What has to be done by hand."""
        # In the order in which somebody would go about it: files, then what applies them.
        return (*self._mixed(), *self._unused_directories(), *self._unused_kustomizations())

    @cached_property
    def removed(self) -> frozenset[Identity]:
        """What goes, as the clusters know it."""
        return frozenset(each.identity for each in self._removed)

    @cached_property
    def by_hand(self) -> frozenset[Identity]:
        """What of it stays until somebody takes it out, as its file holds other objects too."""
        mixed = (each for each in self._removed if each.location.file not in self._removed_files)
        return frozenset(each.identity for each in mixed)

    @cached_property
    def _removed(self) -> tuple[Document, ...]:
        """The objects that go: CronJobs, and accounts and rights that nothing else uses."""
        stay = removals.accounts_of_others(self.repository, self._jobs)
        found: list[Document] = []
        for gating in self.gatings:
            found += removals.of_cluster(gating, stay)
        return tuple(found)

    @cached_property
    def _locations(self) -> frozenset[Location]:
        """Where the objects are written that go."""
        return frozenset(each.location for each in self._removed)

    @cached_property
    def _suspensions(self) -> dict[Location, tuple[str, ...]]:
        """Where a target has `suspend: false`, which would undo every close; and its field."""
        found: dict[Location, tuple[str, ...]] = {}
        for gating in self.gatings:
            known = gating.cluster.gated
            for target in gating.targets:
                document = known.get((target.kind, target.namespace, target.name))
                held = leaf(document.tree, *target.field) if document else None
                if held and held.value is False:
                    found[held.location] = target.field
        return found

    @cached_property
    def _jobs(self) -> tuple[Document, ...]:
        """The CronJobs of all clusters that policies take the place of."""
        found: list[Document] = []
        for gating in self.gatings:
            found += (job.document for job in gating.jobs)
        return tuple(found)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of those CronJobs, also those they had before a prefix."""
        names = {each.name for each in self._jobs}
        for each in self._jobs:
            names.update(former for _, former in each.former)
        return frozenset(names)

    @cached_property
    def _staying(self) -> frozenset[Location]:
        """Where CronJobs are written that are applied and make no window."""
        found: set[Location] = set()
        for gating in self.gatings:
            found.update(each.location for each in gating.cluster.objects if each.kind == "CronJob")
        # A patch has the location of its file, not that of the CronJob that it changes.
        return frozenset(found - {each.location for each in self._jobs})

    @cached_property
    def _affected(self) -> frozenset[str]:
        """The files that something goes out of, or that may hold a patch of a CronJob."""
        found = {location.file for location in self._locations}
        # To look for a word is much cheaper than to read every file.
        for path, content in self.repository.contents.items():
            if b"CronJob" in content:
                found.add(path)
        return frozenset(found)

    @cached_property
    def _removed_files(self) -> frozenset[str]:
        """The files of which nothing stays."""
        every = ((path, self.repository.documents(path)) for path in self._affected)
        return frozenset(path for path, found in every if self._all_go(found))

    def _all_go(self, found: Sequence[Document]) -> bool:
        return bool(found) and all(map(self._goes, found))

    def _goes(self, found: Document) -> bool:
        """Whether a document is one of those objects, or a patch of one of those CronJobs."""
        # A patch has the name of its CronJob, and no command that suspends.
        if found.kind == "CronJob" and found.name in self._names and not jobs.is_one(found):
            return found.location not in self._staying
        return found.location in self._locations

    @cached_property
    def _emptied(self) -> frozenset[str]:
        """The directories whose kustomization has nothing left, found from the innermost on."""
        emptied: set[str] = set()
        # A kustomization that lists only emptied directories is empty in its turn.
        while True:
            more = set()
            for path, found in self.repository.kustomizations.items():
                if path not in emptied and self._is_empty(path, found, emptied):
                    more.add(path)
            if not more:
                return frozenset(emptied)
            emptied |= more

    def _is_empty(
        self,
        directory: str,
        found: Document,
        emptied: Collection[str],
    ) -> bool:
        """Whether a kustomization had something, and nothing of it stays."""
        had_any = False
        for key in _CONTENT:
            for entry in trees.items(found.tree, key):
                had_any = True
                # A generator or a chart makes objects that are no windows.
                if key not in _LISTS or not self._entry_goes(directory, entry, emptied):
                    return False
        return had_any

    def _entry_goes(
        self,
        directory: str,
        entry: Tree,
        emptied: Collection[str],
    ) -> bool:
        """Whether an entry of `resources` goes: a file, or a directory with nothing left."""
        path = ""
        if isinstance(entry, Leaf):
            path = resolve(directory, entry.text)
        return path in self._removed_files or path in emptied

    def _edited(self, path: str) -> bytes | None:
        """Return a file without what goes, None where nothing of it does, or all."""
        found = self.repository.documents(path)
        # What cannot be read is not edited.
        if not found:
            return None
        items = documents(self.repository.contents[path])
        for document in found:
            # From the last to the first, so that no index changes before it is used.
            for each in reversed(self._removals(path, document)):
                items[document.index].remove(*each)
        if not any(item.edited for item in items):
            return None
        return b"".join(item.span for item in items)

    def _removals(self, path: str, document: Document) -> list[_Path]:
        """Return the paths of what goes out of a document."""
        removals: list[_Path] = []
        for field in set(self._suspensions.values()):
            held = leaf(document.tree, *field)
            if held and self._suspensions.get(held.location) == field:
                removals.append(field)
        return removals + self._listed(path, document)

    def _listed(self, path: str, document: Document) -> list[_Path]:
        """Return the paths of what a kustomization lists that goes."""
        directory = posixpath.dirname(path)
        own = self.repository.kustomizations.get(directory)
        # One with nothing left is named as obsolete, and stays as it is.
        if document is own and directory not in self._emptied:
            entries = self._entries(directory, document.tree)
            return entries + self._patches(directory, document.tree)
        # A Flux Kustomization may have patches of its own, in `spec.patches`.
        if (document.kind, document.group) != ("Kustomization", KUSTOMIZE):
            return []
        spec = trees.at(document.tree, "spec")
        if not isinstance(spec, dict):
            return []
        return [("spec", *each) for each in self._patches(directory, spec)]

    def _entries(self, directory: str, tree: Map) -> list[_Path]:
        paths: list[_Path] = []
        for key in _LISTS:
            listed = trees.items(tree, key)
            going = [self._entry_goes(directory, entry, self._emptied) for entry in listed]
            paths += _paths(key, going)
        return paths

    def _patches(self, directory: str, tree: Map) -> list[_Path]:
        paths: list[_Path] = []
        for key in _PATCHES:
            listed = trees.items(tree, key)
            going = [self._patch_goes(directory, entry) for entry in listed]
            paths += _paths(key, going)
        return paths

    @cached_property
    def _patch_files(self) -> frozenset[str]:
        """The files of patches that are taken out by their target."""
        found: set[str] = set()
        for directory, kustomization in self.repository.kustomizations.items():
            for key in _PATCHES:
                found.update(self._files_of(directory, trees.items(kustomization.tree, key)))
        # A path that leads out of the repository is of no file here.
        return frozenset(found & self.repository.contents.keys())

    def _files_of(
        self,
        directory: str,
        patches: Sequence[Tree],
    ) -> Iterator[str]:
        """Yield the files of those patches that go."""
        for entry in patches:
            path = text(entry, "path")
            if path and self._patch_goes(directory, entry):
                yield resolve(directory, path)

    def _patch_goes(self, directory: str, entry: Tree) -> bool:
        # A target says for which objects a patch is, whatever the patch itself says (kustomize).
        target = trees.at(entry, "target")
        if target is not None:
            return isinstance(target, dict) and self._target_goes(target)
        written = _patch(entry)
        if written is None:
            return False
        path = resolve(directory, written.text)
        if path in self.repository.contents:
            # A path: the patch goes with its file. Else it is the patch itself.
            return path in self._removed_files
        return self._inline_goes(written)

    def _target_goes(self, target: Map) -> bool:
        """Whether a patch is for CronJobs that go.

        A pattern that kustomize refuses is for none.
        """
        pattern = text(target, "name")
        if text(target, "kind") != "CronJob" or not pattern:
            return False
        try:
            return any(selectors.matches(pattern, name) for name in sorted(self._names))
        except selectors.PatternError:
            return False

    def _inline_goes(self, written: Leaf) -> bool:
        try:
            found = trees.read(written.location.file, written.text.encode())
        except InputError:
            return False
        return self._all_go(found)

    def _mixed(self) -> Iterator[Result]:
        """Name what goes out of files that stay."""
        # Only its owner knows whether the objects beside it are still needed.
        for path in sorted(self._affected - self._removed_files):
            for found in self.repository.documents(path):
                if found.location in self._locations:
                    message = (
                        f"{found} must be removed by hand: its file contains other objects too"
                    )
                    yield found_at(rules.MIGRATE_BY_HAND, found.location, message)

    @property
    def _directories(self) -> Iterator[AppliedDirectory]:
        """The directories that are applied to the clusters."""
        for gating in self.gatings:
            yield from gating.cluster.directories

    def _unused_directories(self) -> Iterator[Result]:
        """Name directories that are applied to a cluster and have nothing left in them."""
        # What nothing includes is applied by Flux itself, and only somebody can stop that.
        applied = {directory.path for directory in self._directories}
        for path in sorted(self._emptied & applied):
            location = self.repository.kustomizations[path].location
            # The path of the repository as a whole is an empty text.
            message = (
                f"is empty without the windows: what applies {path or '.'} must be removed too"
            )
            yield found_at(rules.MIGRATE_BY_HAND, location, message)

    def _unused_kustomizations(self) -> Iterator[Result]:
        """Name Flux Kustomizations of which nothing stays, though no kustomization says so."""
        for directory in self._directories:
            path = directory.path
            applier = directory.kustomization
            if applier is None or not path or path in self._emptied:
                continue
            # It is of another source, or was not followed: its path is none of this repository.
            if not directory.objects:
                continue
            if self._is_left_empty(path):
                message = (
                    f"{applier} applies nothing without the windows in {path}, and must be "
                    "removed too"
                )
                yield found_at(rules.MIGRATE_BY_HAND, applier.location, message)

    def _is_left_empty(self, directory: str) -> bool:
        """Whether nothing is left of a directory that Flux applies as it is."""
        prefix = f"{directory}/"
        inside = [path for path in self.repository.contents if path.startswith(prefix)]
        if not inside:
            return False
        return all(path in self.obsolete for path in inside)


def _paths(key: str, going: Sequence[bool]) -> list[_Path]:
    """Return the paths to remove of a list: the list as a whole where nothing of it stays."""
    # An empty list would stay, and kustomize has nothing to do with one.
    if going and all(going):
        return [(key,)]
    return [(key, index) for index, goes in enumerate(going) if goes]


def _patch(entry: Tree) -> Leaf | None:
    """Return where a patch is written: the entry itself, or its `path`, or its `patch`.

    `patchesStrategicMerge` has paths and texts as they are, `patches` has them in fields.
    """
    if isinstance(entry, Leaf):
        return entry
    return leaf(entry, "path") or leaf(entry, "patch")
