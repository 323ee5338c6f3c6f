"""The clusters of a repository, with what is applied to each, as far as a migration looks at it.

A cluster has windows only where CronJobs that make them are really applied to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from krm_windows import gateable, rules
from krm_windows.emit import labels
from krm_windows.flux.model import Cluster, Identity, Kustomization, Object
from krm_windows.krm import InputError
from krm_windows.migrate import heuristics, jobs, trees
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.origins import Origins
from krm_windows.migrate.trees import Document, Location, leaf
from krm_windows.results import Result

# Kinds by which a CronJob has its rights, some of which go with it.
_RIGHTS = frozenset({"ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
# Kinds that speak of suspending without doing it: descriptions of fields, texts of alerts.
# A Flux Kustomization's patches are no scripts of its own: what they make is read where it is
# applied.
_SILENT = frozenset(
    {
        "CustomResourceDefinition",
        "PrometheusRule",
        "GrafanaDashboard",
        "Kustomization",
        "CronJob",
    }
)


@dataclass(frozen=True, slots=True)
class AppliedDirectory:
    """A directory as it is applied to one cluster."""

    path: str
    """Relative to the repository, which is an empty text."""

    objects: tuple[Document, ...]
    """Those that a migration looks at."""

    scripts: tuple[Document, ...] = ()
    """Other objects, with text that may suspend or resume."""

    kustomization: Document | None = None
    """The Flux Kustomization that applies it, None where Git has none."""


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """A cluster, and all that is applied to it."""

    name: str | None
    """None where the repository is for one cluster only."""

    directories: tuple[AppliedDirectory, ...]

    results: tuple[Result, ...] = ()
    """What could not be read, or is contradictory."""

    complete: bool = True
    """Whether everything that is applied to it is known."""

    root: str = ""
    """Its own directory, as the survey has it."""

    own: frozenset[Identity] = frozenset()
    """What that has, which is what `render` reads."""

    @property
    def objects(self) -> Iterator[Document]:
        """Every object of the cluster."""
        for directory in self.directories:
            yield from directory.objects

    @property
    def jobs(self) -> Iterator[Document]:
        """Every CronJob that suspends or resumes anything."""
        return filter(jobs.is_one, self.objects)

    @property
    def gated(self) -> dict[tuple[str, str, str], Document]:
        """What can be suspended, by kind, namespace and name."""
        found = {}
        for each in self.objects:
            if gateable.find(each.kind, each.api_version):
                found[each.kind, each.namespace, each.name] = each
        return found

    @property
    def where(self) -> str:
        """How a sentence says that something is so on this cluster."""
        if self.name:
            return f"on {self.name}"
        return "here"


def read(
    cluster: Cluster,
    name: str | None,
    origins: Origins,
) -> ClusterObjects:
    """Return what a migration looks at of a cluster."""
    directories: list[AppliedDirectory] = []
    results: list[Result] = []
    # A directory that is taken as a whole, as nothing in Git says who applies it, also holds what
    # others apply from it.
    applied_by_others = frozenset(_delivered(cluster))
    for each in cluster.kustomizations.values():
        left_out = frozenset[Identity]()
        if each.own is None:
            left_out = applied_by_others
        try:
            directories.append(_directory(each, left_out, origins))
        # One directory that cannot be read must not hide the windows of the others.
        except InputError as error:
            message = f"what {each.path} applies cannot be read: {error.message}"
            location = Location(each.path, max(error.line, 1))
            results.append(found_at(rules.MIGRATE_UNTRANSLATED, location, message))
    results += _twice(directories)
    return ClusterObjects(
        name,
        tuple(directories),
        tuple(results),
        cluster.complete,
        cluster.root,
        frozenset(item.identity for item in cluster.first.objects),
    )


def _delivered(cluster: Cluster) -> Iterator[Identity]:
    """Yield what the Flux Kustomizations of a cluster apply."""
    for each in cluster.kustomizations.values():
        if each.own:
            for item in each.objects:
                yield item.identity


def _directory(
    applied: Kustomization,
    left_out: frozenset[Identity],
    origins: Origins,
) -> AppliedDirectory:
    own = None
    if applied.own:
        own = origins.document(applied.own)
    objects: list[Document] = []
    scripts: list[Document] = []
    for item in applied.objects:
        if item.identity in left_out or _is_ours(item):
            continue
        if _is_looked_at(item):
            objects.append(origins.document(item))
        # To look for a word in the text is quick; what it means is read later.
        if item.kind not in _SILENT and heuristics.may_suspend(item.item.span):
            scripts.append(origins.document(item))
    # Paths of documents have no `.`: the repository is an empty text.
    path = applied.path
    if path == ".":
        path = ""
    return AppliedDirectory(path, tuple(objects), tuple(scripts), own)


def _is_ours(item: Object) -> bool:
    # What was rendered of a policy suspends and resumes as well, and nobody has written it by hand.
    return labels.POLICY in item.item.labels


def _is_looked_at(item: Object) -> bool:
    if item.kind == "CronJob" or item.kind in _RIGHTS:
        return True
    return gateable.find(item.kind, item.api_version) is not None


def _twice(directories: Iterable[AppliedDirectory]) -> Iterator[Result]:
    """Name CronJobs that two Kustomizations apply in different forms.

    Which of them is used is chance.
    """
    found: dict[tuple[str, str], Document] = {}
    for directory in directories:
        for each in filter(jobs.is_one, directory.objects):
            # The first one that is applied is what the others are compared with.
            other = found.setdefault((each.namespace, each.name), each)
            # Comments and order of keys do not count, as the API server does not see them.
            if trees.plain(other.tree) == trees.plain(each.tree):
                continue
            where = other.location
            message = f"{each} is applied twice with different content: the other one is in {where}"
            yield found_at(rules.MIGRATE_UNTRANSLATED, each.location, message)


def all_suspended(cluster: ClusterObjects) -> Iterator[Result]:
    """Say of a cluster whose CronJobs are all suspended that it has no window."""
    found = list(cluster.jobs)
    suspended = [leaf(job.tree, "spec", "suspend") for job in found]
    locations = [each.location for each in suspended if each and each.value is True]
    # One that runs makes a window, whatever the others do.
    if not found or len(locations) < len(found):
        return
    names = ", ".join(sorted({job.name for job in found}))
    where = cluster.where
    message = (
        f"{names} stay suspended {where}: there is no window, and the policy gates nothing there"
    )
    yield found_at(rules.MIGRATE_SUSPENDED, locations[0], message)
