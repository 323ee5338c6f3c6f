"""The clusters of a repository, with what is applied to each, as far as a migration looks at it.

A cluster has windows only where CronJobs that make them are really applied to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from krm_windows import gateable, rules
from krm_windows.emit import labels
from krm_windows.flux.model import Cluster, Identity, Object, ObjectIdentity
from krm_windows.krm import InputError
from krm_windows.migrate import heuristics, jobs
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import Document, Location, Repository
from krm_windows.results import Result

# Kinds by which a CronJob has its rights, some of which go with it.
_RIGHTS = frozenset({"ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
# Kinds that speak of suspending without doing it: descriptions of fields, texts of alerts.
# A Flux Kustomization's patches are no scripts of its own: what they make is read where it is
# applied.
_SILENT = frozenset(
    {"CustomResourceDefinition", "PrometheusRule", "GrafanaDashboard", "Kustomization", "CronJob"}
)


@dataclass(frozen=True)
class ClusterObjects:
    """A cluster, and what a migration looks at of it."""

    cluster: Cluster

    name: str | None
    """None where the repository is for one cluster only."""

    objects: tuple[Document, ...]

    scripts: tuple[Document, ...]
    """Other objects, with text that may suspend or resume."""

    results: tuple[Result, ...]
    """What could not be read, or is contradictory."""

    @cached_property
    def jobs(self) -> list[Document]:
        """Every CronJob that suspends or resumes anything."""
        return list(filter(jobs.is_one, self.objects))

    @cached_property
    def gated(self) -> dict[ObjectIdentity, Document]:
        """What can be suspended."""
        found = (each for each in self.objects if gateable.find(each.kind, each.api_version))
        return {each.identity: each for each in found}

    @property
    def where(self) -> str:
        """How a sentence says that something is so on this cluster."""
        return f"on {self.name}" if self.name else "here"


def read(cluster: Cluster, name: str | None, repository: Repository) -> ClusterObjects:
    """Return what a migration looks at of a cluster."""
    objects: list[Document] = []
    scripts: list[Document] = []
    results: list[Result] = []
    # A directory that is taken as a whole, as nothing in Git says who applies it, also holds what
    # others apply from it.
    of_others = set[Identity]()
    for each in filter(lambda each: each.own, cluster.kustomizations.values()):
        of_others.update(item.identity for item in each.objects)
    for each in cluster.kustomizations.values():
        for item in each.objects:
            # What was rendered of a policy suspends and resumes as well.
            if labels.POLICY in item.item.labels or (not each.own and item.identity in of_others):
                continue
            try:
                if _is_looked_at(item):
                    objects.append(repository.document(item, each))
                # To look for a word in the text is quick; what it means is read later.
                if item.kind not in _SILENT and heuristics.may_suspend(item.item.span):
                    scripts.append(repository.document(item, each))
            # One that cannot be read must not hide the windows of the others.
            except InputError as error:
                message = f"what {each.path} applies cannot be read: {error.message}"
                location = Location(each.path, max(error.line, 1))
                results.append(found_at(rules.MIGRATE_UNTRANSLATED, location, message))
    results += _twice(filter(jobs.is_one, objects))
    return ClusterObjects(cluster, name, tuple(objects), tuple(scripts), tuple(results))


def _is_looked_at(item: Object) -> bool:
    if item.kind == "CronJob" or item.kind in _RIGHTS:
        return True
    return gateable.find(item.kind, item.api_version) is not None


def _twice(every: Iterable[Document]) -> Iterator[Result]:
    """Name CronJobs that two Kustomizations apply in different forms: which is used is chance."""
    found: dict[Identity, Document] = {}
    for each in every:
        # The first one that is applied is what the others are compared with.
        other = found.setdefault(each.identity, each)
        if _content(other) != _content(each):
            where = other.location
            message = f"{each} is applied twice with different content: the other one is in {where}"
            yield found_at(rules.MIGRATE_UNTRANSLATED, each.location, message)


def _content(document: Document) -> object:
    # Where an object comes from, and the order of keys, do not count.
    return document.get("spec")


def all_suspended(cluster: ClusterObjects) -> Iterator[Result]:
    """Say of a cluster whose CronJobs are all suspended that it has no window."""
    found = cluster.jobs
    # One that runs makes a window, whatever the others do.
    if not found or any(job.get("spec", "suspend") is not True for job in found):
        return
    names = ", ".join(sorted({job.name for job in found}))
    message = (
        f"{names} stay suspended {cluster.where}: there is no window, and the policy gates "
        "nothing there"
    )
    yield found_at(rules.MIGRATE_SUSPENDED, found[0].at("spec", "suspend"), message)


def without(cluster: Cluster, removed: Iterable[Identity]) -> Cluster:
    """Return a cluster as it is without some objects."""
    gone = frozenset(removed)
    kustomizations = {}
    for key, each in cluster.kustomizations.items():
        objects = tuple(item for item in each.objects if item.identity not in gone)
        kustomizations[key] = replace(each, objects=objects)
    return replace(cluster, kustomizations=kustomizations)
