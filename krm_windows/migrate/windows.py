"""Which windows the CronJobs of a cluster make: what they gate, and when that is open.

What they gate is open from each opening until the first closing after it, whichever CronJob closes.
So an opening is paired with the one that closes first after each of its runs.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from krm_windows import rules
from krm_windows.flux.model import ObjectIdentity
from krm_windows.gateable import SOURCE
from krm_windows.migrate.commands import Action
from krm_windows.migrate.jobs import ClusterJobs, Job
from krm_windows.plan import AUDITED
from krm_windows.policy import schedules
from krm_windows.policy.findings import RefusedError
from krm_windows.rules import Rule
from krm_windows.schedule import controller, cron, zones

# The zone of a CronJob without one is that of its controller; almost everywhere this is UTC.
ASSUMED = "Etc/UTC"
# A Sunday of no meaning: weekly schedules are read on a clock that never changes.
_SUNDAY = datetime(2026, 1, 4, tzinfo=UTC)
_FORTNIGHT = (_SUNDAY, _SUNDAY + timedelta(days=14))
# The controller's runs are those after a moment, and the first one counts.
_UNTIL_FIRST = timedelta(seconds=1)
_PATH = "spec.schedule"


Key = frozenset[tuple[bool, ObjectIdentity]]
"""The CronJobs that act on a target, and whether each suspends it.

Targets on which the same ones act share a policy.
"""


class Window(NamedTuple):
    """The names of the CronJobs that open and close, and their schedules."""

    jobs: tuple[str, str]
    opens: str
    closes: str


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows that the same CronJobs make on one cluster, and what these gate."""

    namespace: str
    zone: str
    windows: tuple[Window, ...]
    targets: frozenset[ObjectIdentity]

    @property
    def times(self) -> tuple[object, ...]:
        """When it is open, and where: equal for policies that can be one."""
        written = sorted((each.opens, each.closes) for each in self.windows)
        return (self.namespace, self.zone, *written)


class _RefusedWindowsError(Exception):
    """Why some CronJobs make no windows that a policy can have: a rule, and the CronJob."""

    def __init__(self, rule: Rule, job: Job, message: str) -> None:
        super().__init__(message)
        self.rule = rule
        self.job = job


def read(cluster: ClusterJobs) -> Mapping[Key, Windows]:
    """Return the windows of a cluster by the CronJobs that make them; findings go to `cluster`."""
    jobs = {job.item.identity: job for job in cluster.jobs}
    locked = _delivering(cluster)
    acts: dict[ObjectIdentity, set[tuple[bool, ObjectIdentity]]] = {}
    for identity, job in jobs.items():
        for action in job.actions:
            for target in _targets(cluster, job, action):
                if target not in locked:
                    acts.setdefault(target, set()).add((action.suspends, identity))
                    continue
                message = (
                    f"acts on {target}, which delivers the windows: the policy leaves it out, as "
                    "no change to the windows would be applied while it is closed"
                )
                cluster.report(rules.MIGRATE_SELF_LOCK, message, job.item, _PATH)
    members: dict[Key, set[ObjectIdentity]] = {}
    for target, does in sorted(acts.items()):
        # Such as `flux create` made in the cluster, or a cluster that is in another repository.
        if target not in cluster.gated:
            message = (
                f"acts on {target}, which nothing in the repository applies: the policy lists it "
                "with `mustExist: false`; check that it exists in the cluster"
            )
            about = jobs[max(does)[1]].item
            cluster.report(rules.MIGRATE_TARGET_UNSEEN, message, about, _PATH)
        members.setdefault(frozenset(does), set()).add(target)
    found = {}
    for key, targets in members.items():
        # One that is suspended never runs, and makes no window.
        running = [each for each in sorted(key) if not jobs[each[1]].suspended]
        opens = [jobs[each] for suspends, each in running if not suspends]
        closes = [jobs[each] for suspends, each in running if suspends]
        if running:
            try:
                found[key] = _windows(cluster, opens, closes, targets)
            except _RefusedWindowsError as error:
                cluster.report(error.rule, str(error), error.job.item, _PATH)
    return found


def _targets(cluster: ClusterJobs, job: Job, action: Action) -> list[ObjectIdentity]:
    """Return what an action is about; all of a namespace are those that the repository has."""
    row = action.row
    if action.names is not None:
        return [ObjectIdentity(row.group, row.kind, action.namespace, n) for n in action.names]
    where = (row.group, row.kind, action.namespace)
    found = sorted(each for each in cluster.gated if each[:3] == where)
    what = f"acts on every {row.kind} of {action.namespace}"
    if found:
        names = ", ".join(target.name for target in found)
        message = f"{what}; the policy lists those in the repository: {names}"
        cluster.report(rules.MIGRATE_ALL, message, job.item, _PATH)
    else:
        message = f"{what}, and the repository has none: list them in the policy"
        cluster.report(rules.MIGRATE_UNTRANSLATED, message, job.item, _PATH)
    return found


def _delivering(cluster: ClusterJobs) -> frozenset[ObjectIdentity]:
    """Return what delivers the windows: the Kustomization of the cluster's own directory.

    And its source. Closed, these would let no change of the windows arrive.
    """
    root = cluster.cluster.first
    source = root.source or ObjectIdentity(SOURCE, "GitRepository", *root.identity[2:])
    return frozenset({root.identity, source})


def _windows(
    cluster: ClusterJobs,
    opens: Sequence[Job],
    closes: Sequence[Job],
    targets: Iterable[ObjectIdentity],
) -> Windows:
    """Return the windows of some CronJobs; raises _RefusedWindowsError."""
    every = [*opens, *closes]
    about = ", ".join(map(str, sorted(targets)))
    for job in every:
        _check_schedule(job)
        if job in opens and job in closes:
            message = f"suspends and resumes {about} in one run, which is not a window"
            raise _RefusedWindowsError(rules.MIGRATE_UNTRANSLATED, job, message)
    if not closes:
        message = f"opens {about}, and no active CronJob closes it again"
        raise _RefusedWindowsError(rules.MIGRATE_NEVER_CLOSES, opens[0], message)
    if not opens:
        message = f"closes {about}, and no active CronJob opens it again"
        raise _RefusedWindowsError(rules.MIGRATE_NEVER_OPENS, closes[0], message)
    # None and UTC are two zones: which one the controller has is not known.
    if len({(job.zone, job.item.namespace) for job in every}) > 1 or not every[0].item.namespace:
        names = ", ".join(job.item.name for job in every)
        message = f"{names} must have one time zone and one namespace, as a policy has only one"
        raise _RefusedWindowsError(rules.MIGRATE_UNTRANSLATED, every[0], message)
    found = _pairs(opens, closes, about)
    zone = every[0].zone
    if zone is None:
        zone = ASSUMED
        for job in every:
            message = (
                f"is not set, so that of the controller holds, usually UTC; {ASSUMED} is assumed"
            )
            cluster.report(rules.MIGRATE_TIME_ZONE, message, job.item, "spec.timeZone")
    if zone not in zones.names():
        message = f"has the time zone {zone!r}, which does not exist"
        raise _RefusedWindowsError(rules.MIGRATE_UNTRANSLATED, every[0], message)
    return Windows(every[0].item.namespace, zone, tuple(found), frozenset(targets))


def _check_schedule(job: Job) -> None:
    """Refuse a schedule that a policy does not take."""
    try:
        schedules.parse(job.schedule)
    except RefusedError as error:
        message = "; ".join(finding.message for finding in error.findings)
        raise _RefusedWindowsError(rules.MIGRATE_UNTRANSLATED, job, message) from error


def _pairs(opens: Sequence[Job], closes: Sequence[Job], about: str) -> list[Window]:
    """Pair each opening with what closes first after each of its runs."""
    schedules_ = [job.schedule for job in (*opens, *closes)]
    # Two weeks say all of what repeats every week: what opens on a Saturday may close on a Sunday.
    period = _FORTNIGHT if all(map(_is_weekly, schedules_)) else AUDITED
    closing = {job.item.name: job.schedule for job in closes}
    ends: list[tuple[datetime, str]] = []
    for name, schedule in closing.items():
        ends += [(at, name) for at in _runs(schedule, *period)]
    ends.sort()
    found = []
    for job in opens:
        first = set()
        for at in _runs(job.schedule, *period):
            index = bisect_left(ends, (at, ""))
            # What closes after the period is not known, and is the same as at another time.
            if index == len(ends):
                break
            closes_at, name = ends[index]
            first.add(name)
            if closes_at == at:
                message = (
                    f"opens {about} in the same minute in which {name} closes it, such as "
                    f"{at:%a %H:%M}, so the result is random"
                )
                raise _RefusedWindowsError(rules.MIGRATE_RACE, job, message)
        if len(first) != 1:
            names = ", ".join(sorted(first)) or "nothing"
            message = (
                f"opens what is closed by {names}, not always by the same one: write a window for "
                "each into a WindowPolicy by hand, with the days of each in `opens`"
            )
            raise _RefusedWindowsError(rules.MIGRATE_UNTRANSLATED, job, message)
        found += [Window((job.item.name, name), job.schedule, closing[name]) for name in first]
    return found


@lru_cache(maxsize=256)
def _runs(schedule: str, begins: datetime, until: datetime) -> tuple[datetime, ...]:
    """Return the runs of a schedule, on a wall clock that is written as UTC."""
    found = controller.runs(schedule, "", begins - _UNTIL_FIRST)
    return tuple(takewhile(lambda run: run < until, found))


def _is_weekly(schedule: str) -> bool:
    found = cron.parse(schedule).recurrence
    return found is not None and found.is_weekly
