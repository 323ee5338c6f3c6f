"""Edges that act, beside clock changes.

Whether the CronJob controller fires each of them once, and at the intended time. Away from clock
changes a schedule fires as its fields say. Beside one the controller goes its own ways, and with
the actuator `Kubectl` nothing looks again.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise, repeat
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


def misfired(plan: Plan, begins: datetime, ends: datetime) -> Iterator[Result]:
    """Yield each edge that the controller would not fire as meant between two UTC instants."""
    # The gate looks at every interval: an edge that is fired late is only closed or opened late.
    if plan.runs_gate:
        return
    zone = plan.timetable.zone
    changes = tuple(clock_changes(zone, begins, ends))
    # By trigger: what is lost, and what nobody meant.
    skipped: list[set[datetime]] = [set() for _ in plan.triggers]
    added: list[set[datetime]] = [set() for _ in plan.triggers]
    for change in changes:
        meant = [_meant(trigger, change, zone) for trigger in plan.triggers]
        fired = list(map(_fired, plan.triggers, meant, repeat(change)))
        vanished = _vanished(plan, meant, fired)
        for lost, odd, one, other in zip(skipped, added, meant, fired, strict=True):
            # The controller counts from the first one, so that is never fired itself.
            lost.update({*one[1:]} - other - vanished)
            odd.update(other - {*one})
    for trigger, lost, odd in zip(plan.triggers, skipped, added, strict=True):
        for verb, instants in (("skips", lost), ("also fires", odd)):
            if instants:
                yield _reported(trigger, verb, sorted(instants), zone)
    yield from _hurried(plan, changes, zone)


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


def _meant(trigger: Trigger, change: ClockChange, zone: ZoneInfo) -> list[datetime]:
    """Return the instants of an edge around a change, by the wall clock of the gate."""
    recurrence = cron.parse(trigger.schedule).recurrence or Recurrence()
    early = wallclock.wall(change.at - _AROUND, zone)
    # From the last one before, so that the first is well away from the change.
    moment = recurrence.at_or_before(early) or recurrence.after(early)
    found: list[datetime] = []
    while moment and (not found or found[-1] <= change.at + _AROUND):
        found.append(wallclock.instant(moment, zone))
        moment = recurrence.after(moment)
    return found


def _until(instants: Iterable[datetime], last: datetime) -> Iterator[datetime]:
    """Yield instants up to the first one after `last`."""
    for at in instants:
        yield at
        if at > last:
            return


def _reported(trigger: Trigger, verb: str, instants: list[datetime], zone: ZoneInfo) -> Result:
    """Report the first of some instants in full, with how many more there are."""
    when, until = instants[0].astimezone(zone), instants[-1].astimezone(zone)
    message = (
        f"cannot be kept: the CronJob controller {verb} the edge at {findings.moment(when)}"
        f"{findings.repeated(len(instants), until)}, where the clocks of {zone.key} change; use "
        "another time, or the actuator Gate"
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
