"""The kustomizations without the hand-written windows: what the repository is to look like after the change.

Only kustomizations that list something of the old windows are written, edited where they stand. Everything else of the
repository stays. A file that holds other objects too is named instead, and so is a kustomization with nothing left.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from krm_windows import rules
from krm_windows.flux.model import Identity
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import InputError, documents
from krm_windows.migrate import faults, jobs, trees
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.repository import Repository, resolve
from krm_windows.migrate.selectors import PatternError
from krm_windows.migrate.trees import Document, Leaf, Map, Place, Tree, leaf, text
from krm_windows.results import Result

_LISTS = ("resources", "bases")
_PATCHES = ("patchesStrategicMerge", "patches", "patchesJson6902")
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
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_ROLES = ("Role", "ClusterRole")


@dataclass(frozen=True)
class Cutover:
    """What becomes of a repository's files when policies take the place of the CronJobs of some clusters."""

    repository: Repository
    gatings: Sequence[Gating]

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The kustomizations as they are to be, by path."""
        written = {each.place.file for each in self.repository.kustomizations.values()}
        written |= {
            path for path in self.repository.contents if self.repository.mentions(path, KUSTOMIZE)
        }
        found = ((path, self._edited(path)) for path in sorted(written))
        return {path: content for path, content in found if content is not None}

    @cached_property
    def obsolete(self) -> tuple[str, ...]:
        """The files that nothing refers to any more."""
        emptied = {self.repository.kustomizations[path].place.file for path in self._emptied}
        return tuple(sorted({*self._gone_files, *emptied, *self._patch_files}))

    @cached_property
    def _patch_files(self) -> frozenset[str]:
        """The files of patches that are taken out by their target."""
        found = (
            resolve(directory, text(entry, "path"))
            for directory, kustomization in self.repository.kustomizations.items()
            for key in _PATCHES
            for entry in trees.items(kustomization.tree, key)
            if text(entry, "path") and self._patch_goes(directory, entry)
        )
        return frozenset(path for path in found if path in self.repository.contents)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """What has to be done by hand."""
        return (*self._mixed(), *self._unused_tops())

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the CronJobs, also those they had before a prefix."""
        found = (job.document for gating in self.gatings for job in gating.jobs)
        return frozenset(
            name for each in found for name in (each.name, *(former for _, former in each.former))
        )

    @cached_property
    def _places(self) -> frozenset[Place]:
        """Where the objects stand that go: CronJobs, and the accounts and rights that nothing else uses."""
        return frozenset(
            found.place for gating in self.gatings for found in _going(gating, self._accounts)
        )

    @cached_property
    def going(self) -> frozenset[Identity]:
        """What goes, as the clusters know it."""
        every = (found for gating in self.gatings for found in _going(gating, self._accounts))
        return frozenset((found.group, found.kind, found.namespace, found.name) for found in every)

    @cached_property
    def by_hand(self) -> frozenset[Identity]:
        """What of it stays until somebody takes it out, as its file holds other objects too."""
        every = (found for gating in self.gatings for found in _going(gating, self._accounts))
        mixed = (found for found in every if found.place.file not in self._gone_files)
        return frozenset((found.group, found.kind, found.namespace, found.name) for found in mixed)

    @cached_property
    def _accounts(self) -> frozenset[str]:
        """The names of the accounts that something other than the CronJobs runs as, in whatever namespace it may be."""
        own = {job.document.place for gating in self.gatings for job in gating.jobs}
        written = (
            path
            for path, content in self.repository.contents.items()
            if b"serviceAccount" in content
        )
        every = (found for path in written for found in self.repository.documents(path))
        others = (found for found in every if found.place not in own and not jobs.is_one(found))
        return frozenset({"default"} | {name for found in others for name in _accounts(found.tree)})

    @cached_property
    def _gone_files(self) -> frozenset[str]:
        return frozenset(
            path for path in self._concerned if self._all_go(self.repository.documents(path))
        )

    @cached_property
    def _concerned(self) -> frozenset[str]:
        """The files that something goes out of, or that may hold a patch of a CronJob."""
        named = (
            path for path, content in self.repository.contents.items() if b"CronJob" in content
        )
        return frozenset(named) | {place.file for place in self._places}

    @cached_property
    def _staying(self) -> frozenset[Place]:
        """Where CronJobs stand that are applied and make no window."""
        going = {job.document.place for gating in self.gatings for job in gating.jobs}
        every = (
            found
            for gating in self.gatings
            for found in gating.site.objects
            if found.kind == "CronJob"
        )
        return frozenset(found.place for found in every) - going

    def _all_go(self, found: Sequence[Document]) -> bool:
        return bool(found) and all(map(self._goes, found))

    def _goes(self, found: Document) -> bool:
        if found.kind == "CronJob" and found.name in self._names and not jobs.is_one(found):
            return found.place not in self._staying
        return found.place in self._places

    @cached_property
    def _emptied(self) -> frozenset[str]:
        """The directories whose kustomization has nothing left, found from the innermost on."""
        emptied: set[str] = set()
        while True:
            more = {
                path
                for path, found in self.repository.kustomizations.items()
                if path not in emptied and self._is_empty(path, found, emptied)
            }
            if not more:
                return frozenset(emptied)
            emptied |= more

    def _is_empty(self, directory: str, found: Document, emptied: set[str]) -> bool:
        left = {key: trees.items(found.tree, key) for key in _CONTENT & found.tree.keys()}
        kept = [
            entry
            for key, held in left.items()
            for entry in held
            if key not in _LISTS or not self._entry_goes(directory, entry, emptied)
        ]
        return not kept and any(left.values())

    def _entry_goes(self, directory: str, entry: Tree, emptied: Iterable[str]) -> bool:
        path = resolve(directory, entry.text) if isinstance(entry, Leaf) else ""
        return path in self._gone_files or path in emptied

    def _edited(self, path: str) -> bytes | None:
        """Return a file without what goes, None where nothing of it does, or all."""
        directory = posixpath.dirname(path)
        items = documents(self.repository.contents[path]) if self.repository.documents(path) else []
        for found in self.repository.documents(path):
            if (
                found is self.repository.kustomizations.get(directory)
                and directory not in self._emptied
            ):
                paths = self._removals(directory, found.tree)
            elif (found.kind, found.group) == ("Kustomization", KUSTOMIZE):
                spec = trees.at(found.tree, "spec")
                paths = (
                    [("spec", *each) for each in self._patches(directory, spec)]
                    if isinstance(spec, dict)
                    else []
                )
            else:
                continue
            for each in reversed(paths):
                items[found.index].remove(*each)
        edited = any(item.edited for item in items)
        return b"".join(item.span for item in items) if edited else None

    def _removals(self, directory: str, tree: Map) -> list[tuple[str | int, ...]]:
        listed = [
            (key, index)
            for key in _LISTS
            for index, entry in enumerate(trees.items(tree, key))
            if self._entry_goes(directory, entry, self._emptied)
        ]
        return _whole(listed, tree) + self._patches(directory, tree)

    def _patches(self, directory: str, tree: Map) -> list[tuple[str | int, ...]]:
        found = [
            (key, index)
            for key in _PATCHES
            for index, entry in enumerate(trees.items(tree, key))
            if self._patch_goes(directory, entry)
        ]
        return _whole(found, tree)

    def _patch_goes(self, directory: str, entry: Tree) -> bool:
        target = trees.at(entry, "target")
        if target is not None:
            return isinstance(target, dict) and self._target_goes(target)
        written = entry if isinstance(entry, Leaf) else leaf(entry, "path") or leaf(entry, "patch")
        if written is None:
            return False
        path = resolve(directory, written.text)
        return (
            path in self._gone_files
            if path in self.repository.contents
            else self._inline_goes(written)
        )

    def _target_goes(self, target: Map) -> bool:
        """Whether a patch is for CronJobs that go; a pattern that kustomize refuses is for none."""
        if text(target, "kind") != "CronJob" or not text(target, "name"):
            return False
        selectors, written = self.repository.selectors, text(target, "name")
        try:
            return any(selectors.matches(written, name) for name in sorted(self._names))
        except PatternError:
            return False

    def _inline_goes(self, written: Leaf) -> bool:
        try:
            return self._all_go(trees.read(written.place.file, written.text.encode()))
        except InputError:
            return False

    def _mixed(self) -> Iterator[Result]:
        """Name what goes out of files that stay."""
        for path in sorted(self._concerned - self._gone_files):
            for found in self.repository.documents(path):
                if found.place in self._places:
                    message = f"{found} has to be removed by hand: its file holds other objects too"
                    yield found_at(rules.MIGRATE_BY_HAND, found.place, message)

    def _unused_tops(self) -> Iterator[Result]:
        """Name directories that are applied to a cluster, and have nothing left to apply."""
        applied = {part.path for gating in self.gatings for part in gating.site.parts}
        for path in sorted(self._emptied & applied):
            place = self.repository.kustomizations[path].place
            message = (
                f"has nothing left without the windows: what applies {path or '.'} has to go too"
            )
            yield found_at(rules.MIGRATE_BY_HAND, place, message)
        for part in (each for gating in self.gatings for each in gating.site.parts):
            if (
                part.deliverer
                and part.path
                and part.path not in self._emptied
                and self._is_left_empty(part.path)
            ):
                message = f"has nothing left to apply without the windows in {part.path}, and has to go too"
                yield found_at(
                    rules.MIGRATE_BY_HAND, part.deliverer.place, f"{part.deliverer} {message}"
                )

    def _is_left_empty(self, directory: str) -> bool:
        """Whether nothing is left of a directory that Flux applies as it is."""
        inside = [path for path in self.repository.contents if path.startswith(f"{directory}/")]
        return bool(inside) and all(path in self.obsolete for path in inside)


def _whole(found: list[tuple[str, int]], tree: Map) -> list[tuple[str | int, ...]]:
    """Return the paths to remove, a list as a whole where nothing of it stays."""
    paths: list[tuple[str | int, ...]] = []
    for key in dict.fromkeys(key for key, _ in found):
        of_key = [index for each, index in found if each == key]
        everything = len(of_key) == len(trees.items(tree, key))
        paths += [(key,)] if everything else [(key, index) for index in of_key]
    return paths


def _going(gating: Gating, elsewhere: Collection[str]) -> Iterator[Document]:
    """Yield the CronJobs of a cluster, and the accounts and rights that only they use."""
    yield from (job.document for job in gating.jobs)
    used = ((job.namespace, jobs.account(job.document)) for job in gating.jobs)
    accounts = {(namespace, name) for namespace, name in used if name not in elsewhere}
    held = list(gating.site.objects)
    yield from (
        each
        for each in held
        if each.kind == "ServiceAccount" and (each.namespace, each.name) in accounts
    )
    bindings = [each for each in held if each.kind in _BINDINGS]
    gone = [
        each for each in bindings if faults.subjects(each) and faults.subjects(each) <= accounts
    ]
    yield from gone
    kept = {_role(each) for each in bindings if each not in gone}
    roles = {_role(each) for each in gone} - kept
    yield from (each for each in held if each.kind in _ROLES and (each.kind, each.name) in roles)


def _role(binding: Document) -> tuple[str, str]:
    return text(binding.tree, "roleRef", "kind"), text(binding.tree, "roleRef", "name")


def _accounts(tree: Tree) -> Iterator[str]:
    if isinstance(tree, dict):
        yield from (
            text(tree, key) for key in ("serviceAccountName", "serviceAccount") if key in tree
        )
        for entry in tree.values():
            yield from _accounts(entry)
    elif isinstance(tree, list):
        for entry in tree:
            yield from _accounts(entry)
