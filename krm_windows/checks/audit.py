"""The audit: a policy over the coming years, and what a reviewer should know before it is merged."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from krm_windows.checks import clock_edges, closures, windows
from krm_windows.checks.facts import DAY, take
from krm_windows.gate.timetable import Timetable
from krm_windows.results import Result

YEARS = 10
MAX_CLOSED = 35 * DAY


@dataclass(frozen=True, slots=True)
class Scope:
    """What is audited, from midnight of `first` on, and what is called too long a closure."""

    first: date
    years: int = YEARS
    max_closed: timedelta = MAX_CLOSED


def audit(timetable: Timetable, interval: timedelta, scope: Scope) -> Iterator[Result]:
    """Yield every finding on a timetable that is looked at every `interval`."""
    facts = take(timetable, scope.first, scope.years)
    yield from windows.check(facts, interval)
    yield from clock_edges.check(facts)
    yield from closures.check(facts, scope.max_closed)
