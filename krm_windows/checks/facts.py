"""What a timetable comes to over some years: the facts that an audit judges."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache
from itertools import chain
from typing import TypeAlias
from zoneinfo import ZoneInfo

from krm_windows.checks.clock_changes import ClockChange, clock_changes
from krm_windows.gate.table import DAY as MINUTES_OF_DAY
from krm_windows.schedule import table, wallclock
from krm_windows.schedule.table import NEVER
from krm_windows.schedule.timeline import Segment, decide, openings, timeline
from krm_windows.schedule.timetable import Rule, Timetable

DAY = timedelta(days=1)
# The end of what has none.
_EVER = datetime.max.replace(tzinfo=UTC)


Interval: TypeAlias = tuple[int, int]
"""Minutes, the first and the one after the last."""

Span: TypeAlias = tuple[datetime, datetime]
"""A half-open UTC interval: when it begins and when it ends."""


@dataclass(frozen=True)
class Facts:
    """A timetable, on its schedule and not held by hand, over the audited `years`."""

    timetable: Timetable
    years: Span

    @property
    def first(self) -> date:
        """The first audited day."""
        return self.local(self.years[0]).date()

    @property
    def last(self) -> date:
        """The last audited day."""
        # The years end at midnight, which is not in them.
        return (self.local(self.years[1]) - DAY).date()

    @cached_property
    def changes(self) -> tuple[ClockChange, ...]:
        """The clock changes in the audited years."""
        return _changes(self.timetable.zone, *self.years)

    @property
    def segments(self) -> Iterator[Segment]:
        """What is open and what closed, in order."""
        return timeline(self.timetable, *self.years)

    @cached_property
    def opening(self) -> set[str]:
        """The names of the rules by which anything is open."""
        opening = (segment.rules for segment in self.segments if segment.open)
        return set(chain.from_iterable(opening))

    def closures(self, longest: timedelta) -> Iterator[Span]:
        """Yield what is closed for more than `longest`, a day or more.

        It may have begun before the years.
        """
        # Where the last open minute ended, and it has been closed since.
        begins, ends = self.years
        closed = begins - longest
        for opens, closes in (*openings(self.timetable, closed, ends), (ends, ends)):
            if opens - closed > longest:
                yield closed, opens
            closed = closes

    def occurrences(self, *rules: Rule) -> list[Interval]:
        """Return when some rules hold, were there no others, in minutes of the wall clock."""
        first, last = self.looked_at
        days = range(first // MINUTES_OF_DAY, last // MINUTES_OF_DAY + 1)
        found = table.intervals(rules, UTC, days)
        return [(max(b, first), min(e, last)) for b, e in found if b < last and e > first]

    @cached_property
    def union(self) -> list[Interval]:
        """The occurrences of all windows together."""
        return self.occurrences(*self.timetable.windows)

    @cached_property
    def looked_at(self) -> Interval:
        """The audited years in minutes of the wall clock."""
        begins, ends = (wallclock.wall(at, self.timetable.zone) for at in self.years)
        return wallclock.minute_of(begins), wallclock.minute_of(ends)

    def local(self, at: datetime) -> datetime:
        """Return an instant on the clocks of the policy's time zone."""
        return at.astimezone(self.timetable.zone)


# Most policies are in one of a few zones, and audited from today on.
@lru_cache(maxsize=64)
def _changes(zone: ZoneInfo, begins: datetime, ends: datetime) -> tuple[ClockChange, ...]:
    return tuple(clock_changes(zone, begins, ends))


def take(timetable: Timetable, first: date, years: int) -> Facts:
    """Return the facts of so many years from midnight of `first`, in the policy's zone."""
    span = (_midnight(first, timetable.zone), _midnight(later(first, years), timetable.zone))
    # Held by hand it would be open or closed throughout, and nothing could be said of its rules.
    return Facts(timetable._replace(state="Scheduled"), span)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the instant at which a day begins."""
    return wallclock.instant(datetime.combine(day, time()), zone)


def later(day: date, years: int) -> date:
    """Return the same day so many years later; of 29 February the 28th, where there is none."""
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def bare(timetable: Timetable, *rules: Rule) -> Timetable:
    """Return a timetable that is open where these rules hold, and closed elsewhere."""
    return timetable._replace(
        windows=rules,
        freezes=(),
        overrides=(),
        outside_windows="Closed",
        closes_early=timedelta(),
    )


def end_of(timetable: Timetable, rule: Rule) -> datetime:
    """Return the instant at which a rule of a timetable ends that comes once.

    `datetime.max` for one whose end is no date.
    """
    _, ends = table.interval(rule, timetable.zone)
    return _EVER if ends >= NEVER else wallclock.at(ends)


def is_open(timetable: Timetable, at: datetime) -> bool:
    """Whether a timetable is open at an instant."""
    return decide(timetable, at).open
