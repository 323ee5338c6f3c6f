"""The audit: a policy over the coming years, and what a reviewer should know before it is merged."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from krm_windows.checks import actuation, admission, clock_edges, closures, images, windows
from krm_windows.checks.facts import DAY, later, take
from krm_windows.plan import AUDITED
from krm_windows.plan.model import Plan
from krm_windows.results import Result

YEARS = 10
MAX_CLOSED = 35 * DAY


@dataclass(frozen=True, slots=True)
class Scope:
    """What is audited, from midnight of `first` on, and what is called too long a closure."""

    first: date
    years: int = YEARS
    max_closed: timedelta = MAX_CLOSED

    @property
    def last(self) -> date:
        """The last day that is audited."""
        return later(self.first, self.years) - DAY


def audit(plan: Plan, interval: timedelta, scope: Scope) -> Iterator[Result]:
    """Yield every finding on a plan whose targets are looked at every `interval`, if anything looks at them."""
    facts = take(plan.timetable, scope.first, scope.years)
    hook = plan.hooks.before_open if plan.hooks else None
    delays = windows.Delays(
        interval if plan.runs_gate else None, hook.timeout if hook else timedelta()
    )
    yield from windows.check(facts, delays)
    yield from clock_edges.check(facts)
    yield from closures.check(facts, scope.max_closed)
    yield from images.check(plan)
    yield from admission.check(plan)
    # What a build refuses is refused here too, whatever years are asked for.
    yield from actuation.check(
        plan, min(facts.years.begins, AUDITED[0]), max(facts.years.ends, AUDITED[1])
    )
