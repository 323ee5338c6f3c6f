"""Who gates what: for each cluster and each set of CronJobs, the targets and the edges at work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from krm_windows import gateable, rules
from krm_windows.flux.model import ObjectIdentity
from krm_windows.gateable import SUSPEND, Gateable
from krm_windows.migrate import jobs
from krm_windows.migrate.actions import Action
from krm_windows.migrate.clusters import ClusterObjects
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.pairs import Edge
from krm_windows.results import Result, fails


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """An object that is suspended and resumed."""

    kind: str
    namespace: str
    name: str

    @property
    def row(self) -> Gateable | None:
        """Its row of the table of what may be gated."""
        return gateable.find(self.kind)

    @property
    def field(self) -> tuple[str, ...]:
        """The path of the field that suspends it."""
        return self.row.field if self.row else SUSPEND

    @property
    def identity(self) -> ObjectIdentity:
        """Which object it is in a cluster."""
        group = self.row.group if self.row else ""
        return ObjectIdentity(group, self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        """Name the object."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Act:
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

    targets: tuple[Target, ...]
    opens: tuple[Edge, ...]
    closes: tuple[Edge, ...]


@dataclass(frozen=True)
class Gating:
    """The CronJobs of a cluster as read, and what they gate."""

    cluster: ClusterObjects
    jobs: tuple[Job, ...]
    groups: dict[Key, Group] = field(default_factory=dict)
    results: tuple[Result, ...] = ()

    beyond: frozenset[Target] = frozenset()
    """The targets that the cluster's own directory does not have, so that no build sees them."""

    @property
    def targets(self) -> Iterator[Target]:
        """What its CronJobs act on; one may come several times."""
        for job in self.jobs:
            for action in job.actions:
                yield from targets(action, self.cluster)


# What is done to each target, and by which CronJob.
_Acts = dict[Target, dict[Act, Job]]


def read(cluster: ClusterObjects) -> Gating:
    """Read the CronJobs of a cluster."""
    found = _jobs(cluster)
    results = [*cluster.results, *_unread(cluster)]
    for job in found:
        results += job.results
    acts: _Acts = {}
    for job in found:
        for action in job.actions:
            results += _everything(job, action, cluster)
            act = Act(action.suspends, job.namespace, job.name)
            for target in targets(action, cluster):
                acts.setdefault(target, {})[act] = job
    known = cluster.gated.keys()
    # Such as `flux create` made in the cluster, or a cluster that is in another repository.
    unseen = frozenset(each for each in acts if (each.kind, each.namespace, each.name) not in known)
    results += _both(acts)
    results += _unseen(cluster, acts, unseen)
    beyond = frozenset(each for each in acts if each.identity not in cluster.own)
    return Gating(cluster, tuple(found), _groups(acts), tuple(results), beyond)


def _jobs(cluster: ClusterObjects) -> list[Job]:
    """Return the CronJobs, by namespace and name."""
    documents = {(each.namespace, each.name): each for each in cluster.jobs}
    found = []
    # In the order of their names, so that the order of files changes nothing.
    for key in sorted(documents):
        job = jobs.read(documents[key])
        # One that only speaks of suspending, in an `echo`, makes no window, and stays where it is.
        if job.actions or fails(job.results):
            found.append(job)
    return found


def _groups(acts: _Acts) -> dict[Key, Group]:
    """Put targets together on which the same CronJobs act."""
    members: dict[Key, list[Target]] = {}
    for target, does in acts.items():
        members.setdefault(frozenset(does), []).append(target)
    # The CronJobs are the same for all of a group, so those of the first stand for them.
    return {key: _group(found, acts[found[0]]) for key, found in members.items()}


def _group(members: Iterable[Target], does: dict[Act, Job]) -> Group:
    opens: list[Edge] = []
    closes: list[Edge] = []
    for act, job in does.items():
        # A suspended CronJob never runs, so it makes no window (Kubernetes, `spec.suspend`).
        if job.schedule is None or job.suspended:
            continue
        home = job.document.location
        edge = Edge(
            job.name,
            job.namespace,
            job.schedule,
            job.zone,
            job.location,
            home,
        )
        if act.suspends:
            closes.append(edge)
        else:
            opens.append(edge)
    return Group(tuple(sorted(members)), tuple(sorted(opens)), tuple(sorted(closes)))


def _unread(cluster: ClusterObjects) -> Iterator[Result]:
    """Name what may suspend or resume in forms that are not read."""
    for directory in cluster.directories:
        for each in directory.scripts:
            yield from jobs.scripts(each)
    for each in cluster.objects:
        if not jobs.is_one(each):
            yield from jobs.unseen(each)


def _unseen(
    cluster: ClusterObjects,
    acts: _Acts,
    unseen: frozenset[Target],
) -> Iterator[Result]:
    """Name the targets that the repository does not have.

    They may be such as `flux create` made in the cluster.
    """
    for target in sorted(unseen):
        # One CronJob is enough to speak of, and all name the same target.
        job = next(iter(acts[target].values()))
        message = (
            f"{job.name} acts on {target}, which nothing in the repository applies "
            f"{cluster.where}: the policy lists it with `mustExist: false`; check that it "
            "exists in the cluster"
        )
        yield found_at(rules.MIGRATE_TARGET_UNSEEN, job.location, message)


def targets(action: Action, cluster: ClusterObjects) -> Iterator[Target]:
    """Yield what an action is about; all of a namespace are those that the repository has."""
    kind = action.row.kind
    namespace = action.namespace
    if action.names is not None:
        for name in action.names:
            yield Target(kind, namespace, name)
        return
    # `--all` names none: they are those that the repository has now, and no later ones.
    for known_kind, known_namespace, name in cluster.gated:
        if (known_kind, known_namespace) == (kind, namespace):
            yield Target(kind, namespace, name)


def _everything(
    job: Job,
    action: Action,
    cluster: ClusterObjects,
) -> Iterator[Result]:
    """Say what `--all` comes to."""
    if action.names is not None:
        return
    found = ", ".join(target.name for target in targets(action, cluster))
    what = f"{job.name} acts on every {action.row.kind} of {action.namespace}"
    if found:
        message = f"{what}; the policy lists those in the repository: {found}"
        yield found_at(rules.MIGRATE_ALL, job.location, message)
    else:
        message = f"{what}, and the repository has none: list them in the policy"
        yield found_at(rules.MIGRATE_UNTRANSLATED, job.location, message)


def _both(acts: _Acts) -> Iterator[Result]:
    """Name CronJobs that suspend and resume one target."""
    for target, does in acts.items():
        for act, job in does.items():
            # The same CronJob with the opposite action.
            if act.suspends and replace(act, suspends=False) in does:
                message = (
                    f"{job.name} suspends and resumes {target} in one run, which is not a window"
                )
                yield found_at(rules.MIGRATE_UNTRANSLATED, job.location, message)
