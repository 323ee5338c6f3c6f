"""What a repository says of two revisions of what a target applies.

The commits between them that touch what the target reads, and the objects that it would add, change
and remove. Both trees are built as `check --repo` builds one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from krm_windows.flux import Cluster, Kustomization, Object, Survey
from krm_windows.flux.model import Identity, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.gateable import KUSTOMIZE, SOURCE
from krm_windows.krm import InputError
from krm_windows.pending import objects
from krm_windows.pending.between import Between
from krm_windows.system import git_history
from krm_windows.system.git_history import History
from krm_windows.system.git_objects import Commit


@dataclass(frozen=True, slots=True)
class Applied:
    """What a target applies at a commit, and the files that were read to know it."""

    objects: Mapping[Identity, Object] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, and the cluster in it that is meant.

    `directory` is where it is checked out, `survey` follows its clusters as they are at a commit.
    Of several clusters it is the one named `cluster`, or else the only one that has the target.
    """

    directory: Path
    survey: Callable[[str], Survey]
    cluster: str | None = None

    def between(self, target: Target, old: str, new: str) -> Between:
        """Return what lies between two commits for a target; `old` is empty where it has none yet.

        Raises WorkspaceError where one is not there, InputError where several clusters have it.
        """
        was = self._at(old, target) if old else None
        will = self._at(new, target)
        # A cluster that does not have the target applies nothing of it.
        after = Applied() if will is None else _after(will, was, target)
        before = Applied() if was is None else _before(was, will, target, after)
        gaps = [*before.gaps, *after.gaps]
        # A glob that leaves its cluster out would otherwise be a target without changes.
        if was is None and will is None:
            gaps = ["not found in any cluster of this repository"]
        # Nothing was applied yet: the whole history would be new.
        commits: tuple[Commit, ...] | None = None
        reverted: tuple[Commit, ...] = ()
        if old:
            files = before.files | after.files
            with git_history.opened(self.directory, new) as history:
                commits = _touching(history, history.between(old, new), files)
                reverted = _touching(history, history.between(new, old), files)
                if history.lacks_between(old, new) or history.lacks_between(new, old):
                    gaps.append(
                        "commits may be missing, as the clone is shallow: run git fetch --unshallow"
                    )
        changes = tuple(objects.compare(before.objects, after.objects))
        # Both trees may have the same gap.
        return Between(commits, reverted, changes, tuple(dict.fromkeys(gaps)))

    def clusters(self, commit: str) -> tuple[Cluster, ...]:
        """Return the clusters of a commit, only the one that is meant where that has a name."""
        found = self.survey(commit).clusters
        return tuple(each for each in found if each.name == self.cluster) or found

    def _at(self, commit: str, target: Target) -> Cluster | None:
        """Return the cluster that is meant as it is at a commit, None where none has the target."""
        having = [each for each in self.clusters(commit) if is_in(each, target)]
        if len(having) > 1:
            roots = [each.root for each in having]
            names = ", ".join(roots)
            raise InputError(
                f"{target} is in several clusters: {names}; select one with --clusters, such as "
                f"`--clusters {roots[0]}`"
            )
        return having[0] if having else None


def _touching(
    history: History, commits: Iterable[Commit], files: frozenset[str]
) -> tuple[Commit, ...]:
    """Return those of some commits that change a file among these."""
    steps = history.changed(commits)
    return tuple(commit for commit, paths in steps if not files.isdisjoint(paths))


def is_in(cluster: Cluster, target: Target) -> bool:
    """Whether a cluster has a target, or applies anything from it."""
    if ObjectIdentity.of_target(target) in cluster.objects:
        return True
    # What is made in the cluster by hand is in no file, and may still apply some.
    return next(kustomizations(cluster, target), None) is not None


def kustomizations(cluster: Cluster, target: Target) -> Iterator[Kustomization]:
    """Yield the Kustomizations that apply something new once a target is open."""
    if (target.group, target.kind) == (KUSTOMIZE, "Kustomization"):
        key = f"{target.namespace}/{target.name}"
        found = cluster.kustomizations.get(key)
        if found is not None:
            yield found
    # A source lets all through that take their files from it.
    elif target.group == SOURCE:
        for each in cluster.kustomizations.values():
            if each.source == ObjectIdentity.of_target(target):
                yield each


def _after(cluster: Cluster, before: Cluster | None, target: Target) -> Applied:
    """Return what a target applies, and what the new Kustomizations in that apply."""
    found = _with_its_own(cluster, before, target)
    return _together(found) if found else _object(cluster, target)


def _before(cluster: Cluster, after: Cluster | None, target: Target, will: Applied) -> Applied:
    """Return what a target applied and still does, or what is deleted as it does no longer."""
    found = _with_its_own(cluster, after, target)
    if not found:
        return _object(cluster, target)
    own = {each.key for each in kustomizations(cluster, target)}
    gone: set[str] = set()
    for each in found:
        # What is not deleted goes on, with all below it.
        if _deletes(each, after) and (each.key in own or each.parent in gone):
            gone.add(each.key)
    staying = will.objects
    return _together(found, lambda each, item: each.key in gone or item.identity in staying)


def _with_its_own(cluster: Cluster, other: Cluster | None, target: Target) -> list[Kustomization]:
    """Return the Kustomizations of a target, and those below them that the other tree lacks."""
    found = list(kustomizations(cluster, target))
    keys = {each.key for each in found}
    known = () if other is None else other.kustomizations
    # A parent comes before its children.
    for each in cluster.kustomizations.values():
        if each.parent in keys and each.key not in known and each.key not in keys:
            keys.add(each.key)
            found.append(each)
    return found


def _deletes(kustomization: Kustomization, after: Cluster | None) -> bool:
    """Whether what it applied and does no longer is deleted."""
    # It goes on, and does as it says then.
    if after is not None and kustomization.key in after.kustomizations:
        return after.kustomizations[kustomization.key].prunes
    return kustomization.leaves_nothing


def _together(
    every: Iterable[Kustomization],
    counts: Callable[[Kustomization, Object], bool] = lambda _, __: True,
) -> Applied:
    found: dict[Identity, Object] = {}
    files: set[str] = set()
    gaps = []
    for each in every:
        files |= each.files
        for item in each.objects:
            # The first one counts where two Kustomizations apply one object.
            if counts(each, item):
                found.setdefault(item.identity, item)
        if not each.complete:
            gaps.append(f"part of what {each} applies is unknown: see `check --repo`")
    return Applied(found, frozenset(files), tuple(gaps))


def _object(cluster: Cluster, target: Target) -> Applied:
    """Return a target that applies no files, such as a HelmRelease: what changes is itself."""
    # A HelmRelease is an object of the Kustomization that delivers it.
    found = cluster.objects.get(ObjectIdentity.of_target(target))
    if found is None:
        return Applied()
    kustomization, item = found
    # kustomize may not say in which file it is.
    files = frozenset({item.file}) if item.file else kustomization.files
    return Applied({item.identity: item}, files)
