"""Who gates what: for each cluster and each set of CronJobs, the targets and the edges at work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from krm_windows import gateable, rules
from krm_windows.flux.model import ObjectIdentity
from krm_windows.gateable import SUSPEND
from krm_windows.migrate import jobs
from krm_windows.migrate.actions import Action
from krm_windows.migrate.clusters import ClusterObjects
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.pairs import Edge
from krm_windows.results import Result, fails


class Act(NamedTuple):
    """What a CronJob does to a target."""

    suspends: bool
    namespace: str
    job: str


# The CronJobs that act on a target. Targets on which the same ones act share a policy.
Key = frozenset[Act]


@dataclass(frozen=True, slots=True)
class Group:
    """Targets of one cluster that the same CronJobs gate.

    Of the CronJobs, those that are not suspended.
    """

    targets: tuple[ObjectIdentity, ...]
    opens: tuple[Edge, ...]
    closes: tuple[Edge, ...]


@dataclass(frozen=True)
class Gating:
    """The CronJobs of a cluster as read, and what they gate."""

    cluster: ClusterObjects
    jobs: tuple[Job, ...]
    groups: dict[Key, Group] = field(default_factory=dict)
    results: tuple[Result, ...] = ()

    beyond: frozenset[ObjectIdentity] = frozenset()
    """The targets that the cluster's own directory does not have, so that no build sees them."""

    @property
    def root(self) -> str:
        """The cluster's own directory."""
        return self.cluster.cluster.root

    @property
    def targets(self) -> list[ObjectIdentity]:
        """What its CronJobs act on, each once."""
        found = set[ObjectIdentity]()
        for action in chain.from_iterable(job.actions for job in self.jobs):
            found.update(targets(action, self.cluster))
        return sorted(found)


def read(cluster: ClusterObjects, wrong: Iterable[Result] = ()) -> Gating:
    """Read the CronJobs of a cluster; with errors in what is `wrong` it gets no policy."""
    # In the order of their names, so that the order of files changes nothing.
    every = {each.identity: each for each in cluster.jobs}
    read = [jobs.read(every[identity]) for identity in sorted(every)]
    # One that only speaks of suspending, in an `echo`, makes no window, and stays where it is.
    found = [job for job in read if job.actions or fails(job.results)]
    results = [*wrong, *cluster.results, *_unread(cluster)]
    acts: dict[ObjectIdentity, dict[Act, Job]] = {}
    for job in found:
        results += job.results
        for action in job.actions:
            results += _everything(job, action, cluster)
            act = Act(action.suspends, job.document.namespace, job.name)
            for target in targets(action, cluster):
                acts.setdefault(target, {})[act] = job
    members: dict[Key, list[ObjectIdentity]] = {}
    for target, does in sorted(acts.items()):
        results += _checked(target, does, cluster)
        members.setdefault(frozenset(does), []).append(target)
    # The CronJobs are the same for all of a group, so those of the first stand for them.
    groups = {key: _group(each, acts[each[0]]) for key, each in members.items()}
    own = {item.identity for item in cluster.cluster.first.objects}
    beyond = frozenset(acts.keys() - own)
    return Gating(cluster, tuple(found), groups, tuple(results), beyond)


def _group(members: list[ObjectIdentity], does: dict[Act, Job]) -> Group:
    edges: dict[bool, list[Edge]] = {True: [], False: []}
    for act, job in sorted(does.items(), key=lambda each: each[0]):
        # A suspended CronJob never runs, so it makes no window (Kubernetes, `spec.suspend`).
        if job.schedule is not None and not job.suspended:
            at = job.document.at("spec", "schedule")
            home = job.document.location
            edge = Edge(job.name, act.namespace, job.schedule, job.zone, at, home)
            edges[act.suspends].append(edge)
    return Group(tuple(members), tuple(edges[False]), tuple(edges[True]))


def _unread(cluster: ClusterObjects) -> Iterator[Result]:
    """Name what may suspend or resume in forms that are not read."""
    for each in cluster.scripts:
        yield from jobs.scripts(each)
    for each in cluster.objects:
        if not jobs.is_one(each):
            yield from jobs.unseen(each)


def suspension(target: ObjectIdentity) -> tuple[str, ...]:
    """Return the path of the field that suspends a target."""
    row = gateable.find(target.kind)
    return row.field if row else SUSPEND


def targets(action: Action, cluster: ClusterObjects) -> list[ObjectIdentity]:
    """Return what an action is about; all of a namespace are those that the repository has."""
    where = (action.row.group, action.row.kind, action.namespace)
    if action.names is not None:
        return [ObjectIdentity(*where, name) for name in action.names]
    # `--all` names none: they are those that the repository has now, and no later ones.
    return [each for each in cluster.gated if each[:3] == where]


def _everything(job: Job, action: Action, cluster: ClusterObjects) -> Iterator[Result]:
    """Say what `--all` comes to."""
    if action.names is not None:
        return
    found = ", ".join(target.name for target in targets(action, cluster))
    what = f"{job.name} acts on every {action.row.kind} of {action.namespace}"
    rule = rules.MIGRATE_ALL if found else rules.MIGRATE_UNTRANSLATED
    rest = (
        f"; the policy lists those in the repository: {found}"
        if found
        else ", and the repository has none: list them in the policy"
    )
    yield found_at(rule, job.document.at("spec", "schedule"), what + rest)


def _checked(
    target: ObjectIdentity, does: dict[Act, Job], cluster: ClusterObjects
) -> Iterator[Result]:
    """Name a target that the repository does not have, and CronJobs that do both with one."""
    for act, job in does.items():
        # The same CronJob with the opposite action.
        if act.suspends and act._replace(suspends=False) in does:
            message = f"{job.name} suspends and resumes {target} in one run, which is not a window"
            location = job.document.at("spec", "schedule")
            yield found_at(rules.MIGRATE_UNTRANSLATED, location, message)
    # Such as `flux create` made in the cluster, or a cluster that is in another repository.
    if target not in cluster.gated:
        # One CronJob is enough to speak of, and all name the same target.
        job = next(iter(does.values()))
        message = (
            f"{job.name} acts on {target}, which nothing in the repository applies "
            f"{cluster.where}: the policy lists it with `mustExist: false`; check that it "
            "exists in the cluster"
        )
        yield found_at(rules.MIGRATE_TARGET_UNSEEN, job.document.at("spec", "schedule"), message)
