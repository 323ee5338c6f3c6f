"""Who gates what: for each cluster and each set of CronJobs, the targets and the edges at work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from krm_windows import gateable, rules
from krm_windows.gateable import Gateable
from krm_windows.migrate import jobs
from krm_windows.migrate.actions import Action
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.pairs import Edge
from krm_windows.migrate.sites import Site
from krm_windows.results import Result, fails


@dataclass(frozen=True, slots=True, order=True)
class Gated:
    """An object that is suspended and resumed."""

    kind: str
    namespace: str
    name: str

    @property
    def row(self) -> Gateable | None:
        """Its row of the table of what may be gated."""
        return gateable.find(self.kind)

    def __str__(self) -> str:
        """Name the object."""
        return f"{self.kind} {self.namespace}/{self.name}"


# What a CronJob does to a target: whether it suspends, and its namespace and name.
Act = tuple[bool, str, str]
# Targets that agree in this share a policy.
Key = frozenset[Act]


@dataclass(frozen=True, slots=True)
class Group:
    """Targets of one cluster that the same CronJobs gate, and those of the CronJobs that are not suspended."""

    targets: tuple[Gated, ...]
    opens: tuple[Edge, ...]
    closes: tuple[Edge, ...]


@dataclass(frozen=True)
class Gating:
    """The CronJobs of a cluster as read, the groups of targets that they make, and what was found.

    `unseen` are the targets that nothing in the repository applies to the cluster.
    """

    site: Site
    jobs: tuple[Job, ...]
    groups: dict[Key, Group] = field(default_factory=dict)
    results: tuple[Result, ...] = ()
    unseen: frozenset[Gated] = frozenset()


def read(site: Site) -> Gating:
    """Read the CronJobs of a cluster."""
    found = {(each.namespace, each.name): each for each in site.objects if jobs.is_one(each)}
    read_jobs = tuple(jobs.read(found[key]) for key in sorted(found))
    # One that only speaks of suspending, in an `echo`, makes no window, and stays where it is.
    read_jobs = tuple(job for job in read_jobs if job.actions or fails(job.results))
    results = [
        *site.results,
        *_unread(site),
        *(result for job in read_jobs for result in job.results),
    ]
    acts: dict[Gated, dict[Act, Job]] = {}
    for job in read_jobs:
        for action in job.actions:
            results += _everything(job, action, site)
            for target in targets(action, site):
                acts.setdefault(target, {})[action.suspends, job.namespace, job.name] = job
    groups: dict[Key, list[Gated]] = {}
    for target, does in acts.items():
        groups.setdefault(frozenset(does), []).append(target)
    made = {key: _group(members, acts[members[0]]) for key, members in groups.items()}
    known = site.gated
    unseen = frozenset(
        target for target in acts if (target.kind, target.namespace, target.name) not in known
    )
    results += [*_both(acts), *_unseen(site, acts, unseen)]
    return Gating(site, read_jobs, made, tuple(results), unseen)


def _unread(site: Site) -> Iterator[Result]:
    """Name what may suspend or resume in forms that are not read."""
    for part in site.parts:
        for each in part.scripts:
            yield from jobs.scripts(each)
    for each in site.objects:
        if not jobs.is_one(each):
            yield from jobs.unseen(each)


def _unseen(
    site: Site, acts: dict[Gated, dict[Act, Job]], unseen: frozenset[Gated]
) -> Iterator[Result]:
    """Name the targets that the repository does not have, such as those that `flux create` made in the cluster."""
    for target in sorted(unseen):
        job = next(iter(acts[target].values()))
        where = f"on {site.name}" if site.name else "here"
        message = (
            f"{job.name} acts on {target}, which nothing in the repository applies {where}: the policy names it with "
            "`mustExist: false`, and only the cluster knows whether it is there"
        )
        yield found_at(rules.MIGRATE_TARGET_UNSEEN, job.place, message)


def targets(action: Action, site: Site) -> Iterator[Gated]:
    """Yield what an action is about; all of a namespace are those that the repository has."""
    names = action.names
    if names is None:
        names = tuple(
            name
            for kind, space, name in site.gated
            if (kind, space) == (action.row.kind, action.namespace)
        )
    yield from (Gated(action.row.kind, action.namespace, name) for name in names)


def _group(members: Iterable[Gated], does: dict[Act, Job]) -> Group:
    edges: dict[bool, list[Edge]] = {True: [], False: []}
    for (suspends, _, _), job in does.items():
        if job.schedule is not None and not job.suspended:
            place, home = job.place, job.document.place
            edges[suspends].append(
                Edge(job.name, job.namespace, job.schedule, job.zone, place, home)
            )
    return Group(tuple(sorted(members)), tuple(sorted(edges[False])), tuple(sorted(edges[True])))


def _everything(job: Job, action: Action, site: Site) -> Iterator[Result]:
    if action.names is not None:
        return
    found = ", ".join(str(target.name) for target in targets(action, site))
    what = f"{job.name} acts on every {action.row.kind} of {action.namespace}"
    if found:
        yield found_at(
            rules.MIGRATE_ALL,
            job.place,
            f"{what}; the policy names those in the repository: {found}",
        )
    else:
        yield found_at(
            rules.MIGRATE_UNTRANSLATED, job.place, f"{what}, and the repository has none: name them"
        )


def _both(acts: dict[Gated, dict[Act, Job]]) -> Iterator[Result]:
    for target, does in acts.items():
        for (suspends, namespace, name), job in does.items():
            if suspends and (False, namespace, name) in does:
                message = f"{name} suspends and resumes {target} in one run, so it makes no window"
                yield found_at(rules.MIGRATE_UNTRANSLATED, job.place, message)
