"""Edges that act, beside clock changes.

Whether the CronJob controller fires each of them once, and at the intended time. Away from clock
changes a schedule fires as its fields say. Beside one the controller goes its own ways, and with
the actuator `Kubectl` nothing looks again.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.clock_changes import ClockChange, clock_changes
from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger
from krm_windows.results import Result
from krm_windows.schedule import controller, cron, wallclock
from krm_windows.schedule.recurrence import Recurrence

# Beyond two days a change of the clock has no effect on a schedule any more.
_AROUND = timedelta(days=2)


class _Fault(NamedTuple):
    """What the controller does to one edge.

    `meant` and `fired` are UTC instants, one of them may be absent.
    """

    verb: str
    meant: datetime | None
    fired: datetime | None

    @property
    def at(self) -> datetime:
        # One of the two is there.
        return self.meant or self.fired or datetime.max  # noqa: DTZ901


class _Runs(NamedTuple):
    """When an edge is `meant` and when it is `fired`, around a clock change."""

    trigger: Trigger
    meant: tuple[datetime, ...]
    fired: frozenset[datetime]

    def faults(self, ignored: Collection[datetime]) -> Iterator[_Fault]:
        """Compare the two but for some instants."""
        # The controller counts from the first one, so that is never fired itself.
        counted = set(self.meant[1:])
        lost = sorted(counted - self.fired - set(ignored))
        odd = sorted(self.fired - set(self.meant))
        # One that is lost and one that is odd are one that was moved; the rest were skipped, or
        # came twice.
        for at, instead in zip(lost, odd, strict=False):
            yield _Fault("moves", at, instead)
        for at in lost[len(odd) :]:
            yield _Fault("skips", at, None)
        for at in odd[len(lost) :]:
            yield _Fault("repeats", None, at)


def misfired(
    plan: Plan,
    begins: datetime,
    ends: datetime,
) -> Iterator[Result]:
    """Yield each edge that the controller would not fire as meant between two UTC instants."""
    # The gate looks at every interval: an edge that is fired late is only closed or opened late.
    if plan.runs_gate:
        return
    zone = plan.timetable.zone
    changes = tuple(clock_changes(zone, begins, ends))
    found: list[list[_Fault]] = [[] for _ in plan.triggers]
    for change in changes:
        every = [_runs(trigger, change, zone) for trigger in plan.triggers]
        vanished = _vanished(every)
        for faults, runs in zip(found, every, strict=True):
            faults.extend(runs.faults(vanished))
    # Of one sort only the first is reported in full, with how many more there are.
    for trigger, faults in zip(plan.triggers, found, strict=True):
        for same in _by_verb(faults).values():
            yield _reported(trigger, same, zone)
    yield from _hurried(plan, changes, zone)


def _by_verb(faults: Iterable[_Fault]) -> dict[str, list[_Fault]]:
    """Return faults by what they do, each once: two changes may be so near that both show it."""
    found: dict[str, list[_Fault]] = {}
    for fault in dict.fromkeys(faults):
        found.setdefault(fault.verb, []).append(fault)
    return found


def _runs(trigger: Trigger, change: ClockChange, zone: ZoneInfo) -> _Runs:
    meant = _meant(trigger, change, zone)
    # As if its last run had been at the first instant, well before the change.
    runs = controller.runs(trigger.schedule, trigger.time_zone, meant[0])
    fired = _until(runs, change.at + _AROUND)
    return _Runs(
        trigger,
        meant=tuple(meant),
        fired=frozenset(fired),
    )


def _vanished(every: Iterable[_Runs]) -> set[datetime]:
    """Return the instants at which something opens and closes at once and nothing fires.

    They are in a missing hour.
    """
    opening: set[datetime] = set()
    closing: set[datetime] = set()
    fired: set[datetime] = set()
    for each in every:
        # A trigger suspends its targets, so closes, or resumes them.
        side = opening
        if each.trigger.suspends:
            side = closing
        side.update(each.meant)
        fired |= each.fired
    return (opening & closing) - fired


def _meant(
    trigger: Trigger,
    change: ClockChange,
    zone: ZoneInfo,
) -> list[datetime]:
    """Return the instants of an edge around a change, by the wall clock of the gate."""
    recurrence = cron.parse(trigger.schedule).recurrence or Recurrence()
    early = wallclock.wall(change.at - _AROUND, zone)
    moments = _moments(recurrence, early)
    instants = (wallclock.instant(moment, zone) for moment in moments)
    return list(_until(instants, change.at + _AROUND))


def _moments(recurrence: Recurrence, early: datetime) -> Iterator[datetime]:
    # From the last one before, so that the first is well away from the change.
    moment = recurrence.at_or_before(early) or recurrence.after(early)
    while moment:
        yield moment
        moment = recurrence.after(moment)


def _until(instants: Iterable[datetime], last: datetime) -> Iterator[datetime]:
    """Yield instants up to the first one after `last`."""
    for at in instants:
        yield at
        if at > last:
            return


def _reported(
    trigger: Trigger,
    faults: list[_Fault],
    zone: ZoneInfo,
) -> Result:
    first = faults[0]
    last = faults[-1]
    when = first.at.astimezone(zone)
    until = last.at.astimezone(zone)
    instead = ""
    # Only what is moved has both.
    if first.meant and first.fired:
        fired = first.fired.astimezone(zone)
        instead = f" to {findings.moment(fired)}"
    message = (
        f"cannot be kept: the CronJob controller {first.verb} the edge at "
        f"{findings.moment(when)}{instead}{findings.repeated(len(faults), until)}, where the "
        f"clocks of {zone.key} change; use another time, or the actuator Gate"
    )
    return findings.at(rules.KUBECTL_CLOCK_CHANGE, trigger.path, message, when)


def _hurried(
    plan: Plan,
    changes: Iterable[ClockChange],
    zone: ZoneInfo,
) -> Iterator[Result]:
    """Report two edges between which a clock change leaves less time than a late Job takes."""
    # The Job of the first may start as late as `patience`, and then take as long again.
    needed = 2 * plan.patience
    for change in changes:
        edges: set[datetime] = set()
        for trigger in plan.triggers:
            edges.update(_meant(trigger, change, zone))
        for edge, following in pairwise(sorted(edges)):
            # Away from a change the times were compared when the edges were worked out.
            if not edge < change.at < following:
                continue
            between = following - edge
            if between > needed:
                continue
            minutes = between // timedelta(minutes=1)
            when = edge.astimezone(zone)
            message = (
                f"have edges at {findings.moment(when)} and {minutes} minutes later, because "
                f"the clocks of {zone.key} change, and a Job that starts late would undo the "
                "next; use the actuator Gate"
            )
            yield findings.at(rules.KUBECTL_DEADLINE, "windows", message, when)
            return
