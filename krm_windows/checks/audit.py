"""The audit of a policy over the coming years, for whoever reviews it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo

from krm_windows import rules
from krm_windows.checks import (
    actuation,
    admission,
    clock_edges,
    closures,
    images,
    windows,
    zone_changes,
)
from krm_windows.checks.facts import DAY, later, take
from krm_windows.plan import AUDITED, clocks
from krm_windows.plan.clocks import Day
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import ends_soon
from krm_windows.results import Result

YEARS = 10
# Longer than a month, so that a window once a month is no finding.
MAX_CLOSED = 35 * DAY


@dataclass(frozen=True, slots=True)
class Scope:
    """What is audited, and what is called too long a closure.

    From midnight of `first` on, which may be today: another date in each zone.
    """

    first: Day
    years: int = YEARS
    max_closed: timedelta = MAX_CLOSED

    def days(self, zone: tzinfo) -> tuple[date, date]:
        """Return the first and the last day that are audited in a zone."""
        first = clocks.day_on(self.first, zone)
        return first, later(first, self.years) - DAY


def audit(
    plan: Plan,
    interval: timedelta,
    scope: Scope,
) -> Iterator[Result]:
    """Yield every finding on a plan.

    Its gate runs every `interval`, if it has one.
    """
    zone = plan.timetable.zone
    for result in _findings(plan, interval, scope):
        # Whoever reads it may be elsewhere than the policy.
        message = result.message
        if result.on is not None and zone.key not in message:
            message += f" (times in {zone.key})"
        yield result._replace(message=message)


def _findings(
    plan: Plan,
    interval: timedelta,
    scope: Scope,
) -> Iterator[Result]:
    first, _ = scope.days(plan.timetable.zone)
    facts = take(plan.timetable, first, scope.years)
    yield from windows.unsound(facts, _delay(plan, interval))
    yield from clock_edges.shifted(facts)
    yield from closures.lasting(facts, scope.max_closed)
    yield from images.unpinned(plan)
    yield from admission.unlimited(plan)
    yield from zone_changes.unsettled(plan)
    known = ends_soon(facts.years[0])
    if plan.runs_gate and known:
        yield rules.TABLE_ENDS.result(f"is {known}", path="spec")
    # What a build refuses is refused here too, whatever years are asked for.
    begins = min(facts.years[0], AUDITED[0])
    ends = max(facts.years[1], AUDITED[1])
    yield from actuation.misfired(plan, begins, ends)


def _delay(plan: Plan, interval: timedelta) -> timedelta:
    """Return what may pass from an edge until targets are open, by runs and by the hook."""
    hook = plan.hooks.before_open if plan.hooks else None
    by_hook = hook.timeout if hook else timedelta()
    return interval + windows.START_UP + by_hook if plan.runs_gate else by_hook
