"""What has to go before policies can take over: a list of steps for a person."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from posixpath import dirname

from krm_windows.flux.model import Identity, Object
from krm_windows.flux.objects import readable
from krm_windows.krm import KubeObject, Value
from krm_windows.migrate import faults, jobs
from krm_windows.migrate.gating import Gating, suspension
from krm_windows.migrate.repository import (
    Document,
    Location,
    Path,
    Repository,
    Written,
    resolve,
)

_LISTS = ("resources", "bases", "components")
# Fields of a kustomization that hold patches, two of them deprecated (kustomize api/types).
_PATCHES = ("patchesStrategicMerge", "patches", "patchesJson6902")
# Other fields that make objects.
_MAKES = ("generators", "helmCharts", "configMapGenerator", "secretGenerator")
# A ClusterRole that others bind, too, is not among the unused.
_ROLES = ("Role", "ClusterRole")


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
    """The old windows of some clusters, and how they go."""

    repository: Repository
    gatings: Sequence[Gating]

    @cached_property
    def objects(self) -> list[Document]:
        """The objects that go: CronJobs, and accounts and rights that nothing else uses."""
        every = chain.from_iterable(gating.jobs for gating in self.gatings)
        found = [job.document for job in every]
        accounts = {(each.namespace, jobs.account(each)) for each in found}
        accounts = {each for each in accounts if not self._is_used(each[1], found)}
        for gating in self.gatings:
            found += _rights(gating.cluster.objects, accounts)
        return found

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """What goes, as the clusters know it."""
        return frozenset(each.identity for each in self.objects)

    @property
    def steps(self) -> list[Step]:
        """What to do, by file and line."""
        files = self._gone & self.repository.contents.keys()
        found = {Step(at.file, at.line, what) for at, what in self._lines() if at.file not in files}
        found.update(Step(path, 0, "delete it") for path in files)
        return sorted(found)

    def _is_used(self, account: str, own: Sequence[Document]) -> bool:
        """Whether anything but some CronJobs may run as an account."""
        words = (b"serviceAccount", account.encode())
        places = {each.origin.place for each in own if each.origin}
        for each in self.repository.mentioning(*words):
            is_own = each.place in places or jobs.is_one(_document(each.item))
            if not is_own and all(word in each.item.span for word in words):
                return True
        # Any Pod that names no account runs as this one.
        return account == "default"

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the CronJobs, also those they had before a prefix."""
        every = [each for each in self.objects if each.kind == "CronJob"]
        former = (each.origin.item.name for each in every if each.origin)
        return frozenset((*former, *(each.name for each in every)))

    @cached_property
    def _going(self) -> dict[tuple[str, int], Written]:
        """The documents that go, and those that are patches of the CronJobs, by place."""
        applied = chain.from_iterable(gating.cluster.objects for gating in self.gatings)
        stay = {each.origin.place for each in applied if each.origin}
        patches = (
            each
            for each in self.repository.mentioning(b"CronJob")
            if each.place not in stay and self._is_patch(each.item)
        )
        every = chain((each.origin for each in self.objects), patches)
        return {each.place: each for each in every if each}

    def _is_patch(self, item: KubeObject) -> bool:
        """Whether an object is a patch of one of the CronJobs: it has its name, and no command."""
        is_named = item.kind == "CronJob" and item.name in self._names
        return is_named and not jobs.is_one(_document(item))

    @cached_property
    def _gone(self) -> frozenset[str]:
        """The files of which nothing stays, and the directories whose kustomization is one."""
        count = Counter(file for file, _ in self._going)
        gone = {path for path in count if count[path] == len(self.repository.documents(path))}
        for own, _, entry in self._patches():
            if isinstance(entry, dict) and self._target(entry) in self._names:
                gone.add(resolve(dirname(own.file), str(entry.get("path"))))
        gone = self._grown(gone, all)
        kustomizations = self.repository.kustomizations
        return frozenset(
            gone | {kustomizations[each].file for each in gone & kustomizations.keys()}
        )

    def _grown(self, places: set[str], listing: Callable[[Iterable[bool]], bool]) -> set[str]:
        """Add the directories whose kustomizations list any, or all, of what is there."""
        listed = {}
        for directory, own in self.repository.kustomizations.items():
            listed[directory] = [resolve(directory, entry) for _, entry in _listed(own)]
            # What it makes itself is nowhere else.
            if any(own.item.get(key) for key in _MAKES):
                listed[directory].append(own.file)
        found = set(places)
        while more := {
            directory
            for directory, every in listed.items()
            if directory not in found and every and listing(map(found.__contains__, every))
        }:
            found |= more
        return found

    def unapplied(self, used: frozenset[str]) -> Iterator[Written]:
        """Yield kustomizations that lead to what goes, and are none of the `used` files."""
        leading = self._grown({*self._gone, *(file for file, _ in self._going)}, any)
        every = self.repository.kustomizations.items()
        return (own for directory, own in every if directory in leading and own.file not in used)

    def _patches(self) -> Iterator[tuple[Written, Path, Value]]:
        """Yield the patches of kustomizations and Flux Kustomizations, with their paths."""
        # Those of Flux have them in their spec.
        for own in (*self.repository.kustomizations.values(), *self.repository.flux):
            above = ("spec",) if own.item.get("spec") else ()
            for key in _PATCHES:
                for index, entry in enumerate(Object.of(own.item).entries(*above, key)):
                    yield own, (*above, key, index), entry

    def _lines(self) -> Iterator[tuple[Location, str]]:
        """Yield what is to be done inside of files."""
        for each in self._going.values():
            yield each.at(), f"remove {Object.of(each.item)}"
        for directory, own in self.repository.kustomizations.items():
            for path, listed in _listed(own):
                if resolve(directory, listed) in self._gone:
                    yield own.at(*path), f"remove `{listed}`"
        for own, path, entry in self._patches():
            what = self._patch(dirname(own.file), entry)
            if what:
                yield own.at(*path), what
        for gating in self.gatings:
            yield from self._of_cluster(gating)

    def _of_cluster(self, gating: Gating) -> Iterator[tuple[Location, str]]:
        """Yield what is to be done to targets, and to Kustomizations of which nothing stays."""
        known = gating.cluster.gated
        for target in gating.targets:
            found = known.get(target)
            field = suspension(target)
            if found and found.get(*field) is False:
                yield found.at(*field), f"remove `{field[-1]}: false`"
        for applied in gating.cluster.cluster.kustomizations.values():
            found = known.get(applied.identity)
            if found and applied.objects and self._has_all(applied.objects):
                yield found.location, f"remove {found}, which applies nothing else"

    def _has_all(self, objects: Sequence[Object]) -> bool:
        return all(each.identity in self.identities for each in objects)

    def _target(self, entry: dict[str, Value]) -> str | None:
        """Return the name of the CronJobs that a patch selects, empty for all of them."""
        target = entry.get("target")
        # It says for which objects a patch is, whatever the patch itself says (kustomize).
        if not isinstance(target, dict) or target.get("kind") != "CronJob":
            return None
        return str(target.get("name") or "")

    def _patch(self, directory: str, entry: Value) -> str | None:
        """Return what to do about a patch, None where it is for something else."""
        text = str(entry)
        if isinstance(entry, dict):
            name = self._target(entry)
            if name in self._names:
                return f"remove the patch of {name}"
            # A pattern, which kustomize reads as a regular expression.
            if name is not None and not name.replace("-", "").isalnum():
                return "remove the patch of CronJobs, unless others need it"
            if entry.get("target"):
                return None
            text = str(entry.get("path") or entry.get("patch") or "")
        if "\n" not in text and resolve(directory, text) in self._gone:
            return f"remove `{text}`"
        patches = readable(text.encode())
        if patches and all(map(self._is_patch, patches)):
            return f"remove the patch of {patches[0].name}"
        return None


def _document(item: KubeObject) -> Document:
    return Document(**vars(Object.of(item)))


def _listed(own: Written) -> Iterator[tuple[Path, str]]:
    """Yield what a kustomization lists, with its path."""
    for key in _LISTS:
        for index, entry in enumerate(Object.of(own.item).entries(key)):
            yield (key, index), str(entry)


def _rights(objects: Sequence[Document], accounts: set[tuple[str, str]]) -> Iterator[Document]:
    """Yield some accounts, the bindings that are for these only, and the roles of only those."""
    unused: set[tuple[str, str]] = set()
    used: set[tuple[str, str]] = set()
    for each in objects:
        if each.kind == "ServiceAccount" and (each.namespace, each.name) in accounts:
            yield each
        subjects = faults.subjects(each)
        # A binding of several accounts goes only if all of them do.
        if subjects and subjects <= accounts:
            yield each
            unused.add(faults.role_of(each))
        elif each.kind in faults.BINDINGS:
            used.add(faults.role_of(each))
    for each in objects:
        if each.kind in _ROLES and (each.kind, each.name) in unused - used:
            yield each
