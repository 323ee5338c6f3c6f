"""Edges that act, beside clock changes.

Whether the CronJob controller fires each of them once, and at the intended time. Away from clock
changes a schedule fires as its fields say. Beside one the controller goes its own ways, and with
the actuator `Kubectl` nothing looks again.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise, repeat, zip_longest
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
    """What the controller does to one edge: `at` an instant, and `instead`, where it moves it."""

    verb: str
    at: datetime
    instead: datetime | None = None


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
    # By what they do, each once: two changes may be so near that both show it.
    found: list[dict[str, dict[_Fault, None]]] = [{} for _ in plan.triggers]
    for change in changes:
        meant = [_meant(trigger, change, zone) for trigger in plan.triggers]
        fired = list(map(_fired, plan.triggers, meant, repeat(change)))
        vanished = _vanished(plan, meant, fired)
        for faults, one, other in zip(found, meant, fired, strict=True):
            for fault in _faults(one, other, vanished):
                faults.setdefault(fault.verb, {})[fault] = None
    # Of one sort only the first is reported in full, with how many more there are.
    for trigger, faults in zip(plan.triggers, found, strict=True):
        for same in faults.values():
            yield _reported(trigger, list(same), zone)
    yield from _hurried(plan, changes, zone)


def _faults(
    meant: Sequence[datetime], fired: set[datetime], ignored: set[datetime]
) -> Iterator[_Fault]:
    """Compare when an edge is meant and when it is fired, but for some instants."""
    # The controller counts from the first one, so that is never fired itself.
    lost = sorted({*meant[1:]} - fired - ignored)
    odd = sorted(fired - {*meant})
    # One that is lost and one that is odd are one that was moved; the rest were skipped, or came
    # twice.
    for at, instead in zip_longest(lost, odd):
        if at is None:
            yield _Fault("repeats", instead)
        else:
            yield _Fault("moves" if instead else "skips", at, instead)


def _fired(trigger: Trigger, meant: Sequence[datetime], change: ClockChange) -> set[datetime]:
    """Return when the controller fires an edge around a change."""
    # As if its last run had been at the first instant, well before the change.
    runs = controller.runs(trigger.schedule, trigger.time_zone, meant[0])
    return set(_until(runs, change.at + _AROUND))


def _vanished(
    plan: Plan, meant: Iterable[Sequence[datetime]], fired: Iterable[set[datetime]]
) -> set[datetime]:
    """Return the instants at which something opens and closes at once and nothing fires.

    They are in a missing hour.
    """
    # A trigger suspends its targets, so closes, or resumes them.
    sides: dict[bool, set[datetime]] = {True: set(), False: set()}
    for trigger, each in zip(plan.triggers, meant, strict=True):
        sides[bool(trigger.suspends)].update(each)
    return (sides[True] & sides[False]).difference(*fired)


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
    when = first.at.astimezone(zone)
    until = faults[-1].at.astimezone(zone)
    instead = f" to {findings.moment(first.instead.astimezone(zone))}" if first.instead else ""
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
