"""What a repository says of two revisions of what a target applies.

The commits between them that touch what the target reads, and the objects that it would add, change
and remove. Both trees are built as `check --repo` builds one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from krm_windows.flux import Cluster, Kustomization, Object, Survey
from krm_windows.flux.model import Identity, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.gateable import KUSTOMIZE, SOURCE
from krm_windows.krm import InputError
from krm_windows.pending import objects
from krm_windows.pending.between import Between
from krm_windows.system import git_history
from krm_windows.system.git_history import Changed
from krm_windows.system.git_objects import Commit

Step = tuple[Commit, tuple[Changed, ...]]
"""A commit with what it changed."""
Surveyor = Callable[[str], Survey]
"""Follows the clusters of a repository as they are at a commit."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What a target applies at a commit, and the files that were read to know it."""

    objects: Mapping[Identity, Object] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    gaps: tuple[str, ...] = ()

    def __or__(self, other: "Applied") -> "Applied":
        """Return what both apply; the first one counts where both apply one object."""
        return Applied(
            objects={**other.objects, **self.objects},
            files=self.files | other.files,
            gaps=self.gaps + other.gaps,
        )


@dataclass
class Repository:
    """A repository, of which each commit is followed once, and each pair compared once.

    `directory` is where it is checked out. Of several clusters it is the one named `cluster`, or
    else the only one that has the target.
    """

    directory: Path
    survey: Surveyor
    cluster: str | None = None
    surveys: dict[str, Survey] = field(default_factory=dict)
    ranges: dict[tuple[str, str], list[Step]] = field(default_factory=dict)
    cut: set[tuple[str, str]] = field(default_factory=set)
    """Those of the ranges of which a shallow clone may lack some commits."""

    def between(
        self,
        target: Target,
        old: str,
        new: str,
        *,
        builds: bool,
    ) -> Between:
        """Return what lies between two commits for a target; `old` is empty where it has none yet.

        Raises WorkspaceError where one is not there, InputError where several clusters have it.
        """
        was = self._at(old, target)
        will = self._at(new, target)
        before = Applied()
        after = Applied()
        # A cluster that did not have the target yet applied nothing of it.
        if was is not None:
            before = applied(was, target) | leaving(was, will, target)
        if will is not None:
            after = applied(will, target) | arriving(was, will, target)
        if was is not None:
            before = _without(before, after, _kept(was, will, target))
        gaps = before.gaps + after.gaps
        # A glob that leaves its cluster out would otherwise be a target without changes.
        if was is None and will is None:
            gaps = ("not found in any cluster of this repository",)
        files = before.files | after.files
        commits, reverted = self._commits(old, new, files)
        if (old, new) in self.cut:
            gaps += ("commits may be missing, as the clone is shallow: run git fetch --unshallow",)
        # The trees were built to know the files, and still nobody asked for what is in them.
        if not builds:
            return Between(commits, reverted, gaps=_once(gaps))
        fresh = _new_images(before, after)
        gaps += tuple(_image_gaps(before, after, fresh))
        return Between(
            commits=commits,
            reverted=reverted,
            objects=objects.compare(before.objects, after.objects),
            images=tuple(filter(objects.is_image, fresh)),
            gaps=_once(gaps),
        )

    def clusters(self, commit: str) -> tuple[Cluster, ...]:
        """Return the clusters of a commit, only the one that is meant where that has a name."""
        found = self._survey(commit).clusters
        named = tuple(each for each in found if each.name == self.cluster)
        if not named:
            return found
        return named

    def _commits(
        self,
        old: str,
        new: str,
        files: frozenset[str],
    ) -> tuple[tuple[Commit, ...] | None, tuple[Commit, ...]]:
        """Return the commits that come, and those that go, of all that touch some files."""
        # Nothing was applied yet: the whole history would be new.
        if not old:
            return None, ()
        if (old, new) not in self.ranges:
            with git_history.opened(self.directory, new) as history:
                coming = history.between(old, new)
                self.ranges[old, new] = [*history.changed(coming)]
                # After a rollback, or a push by force, there are some that only the old one has.
                going = history.between(new, old)
                self.ranges[new, old] = [*history.changed(going)]
                if history.lacks_between(old, new) or history.lacks_between(new, old):
                    self.cut.add((old, new))
        added = self._touching(old, new, files)
        reverted = self._touching(new, old, files)
        return added, reverted

    def _touching(
        self,
        old: str,
        new: str,
        files: frozenset[str],
    ) -> tuple[Commit, ...]:
        found = []
        for commit, changed in self.ranges[old, new]:
            paths = [each.path for each in changed]
            if not files.isdisjoint(paths):
                found.append(commit)
        return tuple(found)

    def _survey(self, commit: str) -> Survey:
        if commit not in self.surveys:
            self.surveys[commit] = self.survey(commit)
        return self.surveys[commit]

    def _at(self, commit: str, target: Target) -> Cluster | None:
        """Return the cluster that is meant as it is at a commit, None where none has the target."""
        if not commit:
            return None
        having = [each for each in self.clusters(commit) if is_in(each, target)]
        if len(having) > 1:
            roots = [each.root for each in having]
            names = ", ".join(roots)
            raise InputError(
                f"{target} is in several clusters: {names}; select one with --clusters, such as "
                f"`--clusters {roots[0]}`"
            )
        # A target that is new has no cluster at the commit before it.
        if not having:
            return None
        return having[0]


def _once(gaps: Iterable[str]) -> tuple[str, ...]:
    # Both trees may have the same one.
    return tuple(dict.fromkeys(gaps))


def _new_images(before: Applied, after: Applied) -> list[str]:
    """Return what is named as an image after, and was not before, in order."""
    # New to the target itself: whether another one has brought it to the same nodes already
    # nobody can know here.
    had = objects.images(before.objects.values())
    has = objects.images(after.objects.values())
    return sorted(has - had)


def _image_gaps(before: Applied, after: Applied, fresh: Iterable[str]) -> Iterator[str]:
    """Say why images may be missing in a list of them."""
    # Helm renders a chart in the cluster, with values that may be there only.
    for release in objects.charts(before.objects, after.objects):
        yield f"the images of the chart of {release} are unknown"
    for name in fresh:
        if not objects.is_image(name):
            yield f"{name!r} is not a valid image name"


def is_in(cluster: Cluster, target: Target) -> bool:
    """Whether a cluster has a target, or applies anything from it."""
    if ObjectIdentity.of_target(target) in cluster.objects:
        return True
    # What is made in the cluster by hand is in no file, and may still apply some.
    applying = kustomizations(cluster, target)
    return next(applying, None) is not None


def applied(cluster: Cluster, target: Target) -> Applied:
    """Return what a target applies in a cluster."""
    found = list(kustomizations(cluster, target))
    if not found:
        return _object(cluster, target)
    return _together(found)


def _together(kustomizations: Iterable[Kustomization]) -> Applied:
    every: dict[Identity, Object] = {}
    files: set[str] = set()
    gaps = []
    for kustomization in kustomizations:
        files |= kustomization.files
        for item in kustomization.objects:
            # The first one counts where two Kustomizations apply one object.
            every.setdefault(item.identity, item)
        if not kustomization.complete:
            gaps.append(f"part of what {kustomization} applies is unknown: see `check --repo`")
    return Applied(every, frozenset(files), tuple(gaps))


def arriving(before: Cluster | None, after: Cluster, target: Target) -> Applied:
    """Return what a target brings with it: Kustomizations that it applies, and that are new."""
    return _together(_only_in(after, before, target))


def leaving(before: Cluster, after: Cluster | None, target: Target) -> Applied:
    """Return what a target takes with it: Kustomizations that go, and delete what they applied."""
    own = kustomizations(before, target)
    deleting = {each.key for each in own if _deletes(each, after)}
    found = []
    # A parent comes before its children. What is left behind goes on, with all below it.
    for each in _only_in(before, after, target):
        if each.parent in deleting and each.leaves_nothing:
            deleting.add(each.key)
            found.append(each)
    return _together(found)


def _only_in(cluster: Cluster, other: Cluster | None, target: Target) -> list[Kustomization]:
    """Return the Kustomizations that a target applies at one commit, and nothing at another."""
    known: Collection[str] = ()
    if other is not None:
        known = other.kustomizations
    waiting = [each.key for each in kustomizations(cluster, target)]
    # One may apply the next, and that one the first again.
    seen = set(waiting)
    found: list[Kustomization] = []
    # Those that it applies, what these apply, and so on.
    while waiting:
        parent = waiting.pop()
        for each in cluster.kustomizations.values():
            key = each.key
            if each.parent != parent or key in known:
                continue
            if key not in seen:
                seen.add(key)
                waiting.append(key)
                found.append(each)
    return found


def _deletes(kustomization: Kustomization, after: Cluster | None) -> bool:
    """Whether what it applied and does no longer is deleted."""
    # It goes on, and does as it says then.
    if after is not None and kustomization.key in after.kustomizations:
        return after.kustomizations[kustomization.key].prunes
    return kustomization.leaves_nothing


def _kept(was: Cluster, will: Cluster | None, target: Target) -> set[Identity]:
    """Return what stays in the cluster, even where a target applies it no longer."""
    found: set[Identity] = set()
    for each in kustomizations(was, target):
        if not _deletes(each, will):
            found.update(item.identity for item in each.objects)
    return found


def _without(before: Applied, after: Applied, kept: set[Identity]) -> Applied:
    """Return what was applied before, without what goes from Git alone."""
    staying = {
        identity: each
        for identity, each in before.objects.items()
        if identity in after.objects or identity not in kept
    }
    return replace(before, objects=staying)


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


def _object(cluster: Cluster, target: Target) -> Applied:
    """Return a target that applies no files, such as a HelmRelease: what changes is itself."""
    # A HelmRelease is an object of the Kustomization that delivers it.
    found = cluster.objects.get(ObjectIdentity.of_target(target))
    if found is None:
        return Applied()
    kustomization, item = found
    # kustomize may not say in which file it is.
    files = kustomization.files
    if item.file:
        files = frozenset({item.file})
    return Applied({item.identity: item}, files)
