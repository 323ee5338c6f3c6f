"""The clusters of a repository, with what the survey says is applied to each, as far as a migration looks at it.

A cluster has windows only where CronJobs that make them are really delivered to it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from krm_windows import gateable, rules
from krm_windows.flux.model import Cluster, Identity, Kustomization, Object
from krm_windows.krm import InputError
from krm_windows.migrate import jobs, shapes, trees
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.placing import Placing
from krm_windows.migrate.trees import Document, Place, leaf
from krm_windows.results import Result

_RIGHTS = frozenset({"ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"})
# Kinds that speak of suspending without doing it: descriptions of fields, texts of alerts.
# A Flux Kustomization's patches are no scripts of its own: what they make is looked at where it is applied.
_SILENT = frozenset(
    {"CustomResourceDefinition", "PrometheusRule", "GrafanaDashboard", "Kustomization", "CronJob"}
)


@dataclass(frozen=True, slots=True)
class Part:
    """A directory as it is applied to one cluster, and the Flux Kustomization that does it, None where Git has none.

    `objects` are those that a migration looks at; `scripts` other objects with text that suspends or resumes.
    """

    path: str
    objects: tuple[Document, ...]
    scripts: tuple[Document, ...] = ()
    deliverer: Document | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster: its name, None where the repository is for one only, and all that is applied to it.

    `complete` says that everything that is applied to it is known.
    """

    name: str | None
    parts: tuple[Part, ...]
    results: tuple[Result, ...] = ()
    complete: bool = True

    @property
    def objects(self) -> Iterator[Document]:
        """Every object of the cluster."""
        return (found for part in self.parts for found in part.objects)

    @property
    def gated(self) -> dict[tuple[str, str, str], Document]:
        """What can be suspended, by kind, namespace and name."""
        known = (found for found in self.objects if gateable.find(found.kind, found.api_version))
        return {(found.kind, found.namespace, found.name): found for found in known}


def read(cluster: Cluster, name: str | None, placing: Placing) -> Site:
    """Return a cluster as a site."""
    parts: list[Part] = []
    results: list[Result] = []
    applied = cluster.kustomizations.values()
    # A directory that is taken as a whole, as nothing in Git says who applies it, has what others apply from it too.
    delivered = frozenset(item.identity for each in applied if each.own for item in each.objects)
    for each in applied:
        left_out = delivered if each.own is None else frozenset()
        try:
            parts.append(_part(each, left_out, placing))
        except InputError as error:
            message = f"what {each.path} applies cannot be read: {error.message}"
            results.append(
                found_at(rules.MIGRATE_UNTRANSLATED, Place(each.path, max(error.line, 1)), message)
            )
    results += _twice(parts)
    return Site(name, tuple(parts), tuple(results), cluster.complete)


def _part(applied: Kustomization, left_out: frozenset[Identity], placing: Placing) -> Part:
    own = placing.document(applied.own) if applied.own else None
    objects: list[Document] = []
    scripts: list[Document] = []
    for item in applied.objects:
        if item.identity in left_out:
            continue
        if _is_looked_at(item):
            objects.append(placing.document(item))
        if item.kind not in _SILENT and shapes.may_turn(item.item.span):
            scripts.append(placing.document(item))
    return Part("" if applied.path == "." else applied.path, tuple(objects), tuple(scripts), own)


def _is_looked_at(item: Object) -> bool:
    known = item.kind in _RIGHTS or item.kind == "CronJob"
    return known or gateable.find(item.kind, item.api_version) is not None


def _twice(parts: Iterable[Part]) -> Iterator[Result]:
    """Name CronJobs that two Kustomizations apply in different forms: which one is at work is chance."""
    found: dict[tuple[str, str], Document] = {}
    for part in parts:
        for each in part.objects:
            if not jobs.is_one(each):
                continue
            other = found.setdefault((each.namespace, each.name), each)
            if trees.plain(other.tree) != trees.plain(each.tree):
                message = (
                    f"{each} is applied twice, and not alike: the other stands in {other.place}"
                )
                yield found_at(rules.MIGRATE_UNTRANSLATED, each.place, message)


def idle(site: Site) -> Iterator[Result]:
    """Say of a cluster whose CronJobs are all suspended that it has no window."""
    found = [job for job in site.objects if jobs.is_one(job)]
    suspended = [leaf(job.tree, "spec", "suspend") for job in found]
    if found and all(each is not None and each.value is True for each in suspended):
        names = ", ".join(sorted({job.name for job in found}))
        where = f"on {site.name}" if site.name else "here"
        place = next(each.place for each in suspended if each)
        yield found_at(
            rules.MIGRATE_SUSPENDED,
            place,
            f"{names} stay suspended {where}: no window, and the policy gates nothing there",
        )
