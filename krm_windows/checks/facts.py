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


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open UTC interval [`begins`, `ends`)."""

    begins: datetime
    ends: datetime

    @property
    def edges(self) -> tuple[datetime, datetime]:
        """Its beginning and its end."""
        return self.begins, self.ends

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.ends - self.begins


@dataclass(frozen=True)
class Facts:
    """A timetable, on its schedule and not held by hand, over the audited `years`."""

    timetable: Timetable
    years: Span

    @property
    def zone(self) -> ZoneInfo:
        """The policy's time zone."""
        return self.timetable.zone

    @property
    def first(self) -> date:
        """The first audited day."""
        return self.local(self.years.begins).date()

    @property
    def last(self) -> date:
        """The last audited day."""
        # The years end at midnight, which is not in them.
        return (self.local(self.years.ends) - DAY).date()

    @cached_property
    def changes(self) -> tuple[ClockChange, ...]:
        """The clock changes in the audited years."""
        return _changes(self.zone, *self.years.edges)

    @property
    def segments(self) -> Iterator[Segment]:
        """What is open and what closed, in order."""
        return timeline(self.timetable, *self.years.edges)

    def is_opening(self, name: str) -> bool:
        """Whether anything is open by the rule of that name."""
        return name in self._opening

    @cached_property
    def _opening(self) -> set[str]:
        opening = (segment.rules for segment in self.segments if segment.open)
        return set(chain.from_iterable(opening))

    def closures(self, longest: timedelta) -> Iterator[Span]:
        """Yield what is closed for more than `longest`, a day or more.

        It may have begun before the years.
        """
        # Where the last open minute ended, and it has been closed since.
        closed = self.years.begins - longest
        for opens, closes in openings(self.timetable, closed, self.years.ends):
            if opens - closed > longest:
                yield Span(closed, opens)
            closed = closes
        if self.years.ends - closed > longest:
            yield Span(closed, self.years.ends)

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

    def is_endless(self, *rules: Rule) -> bool:
        """Whether some rules hold without an end, were there no others."""
        return self.occurrences(*rules) == [self.looked_at]

    def is_open_in(self, rule: Rule) -> bool:
        """Whether anything is open while a rule holds, by whatever rule."""
        begins, ends = self.years.edges
        days = range(begins.toordinal(), ends.toordinal())
        for interval in table.intervals((rule,), self.zone, days):
            parts = timeline(self.timetable, *map(wallclock.at, interval))
            if any(part.open for part in parts):
                return True
        return False

    @cached_property
    def looked_at(self) -> Interval:
        """The audited years in minutes of the wall clock."""
        begins, ends = (wallclock.wall(at, self.zone) for at in self.years.edges)
        return wallclock.minute_of(begins), wallclock.minute_of(ends)

    def local(self, at: datetime) -> datetime:
        """Return an instant on the clocks of the policy's time zone."""
        return at.astimezone(self.zone)

    def instant(self, moment: datetime) -> datetime:
        """Return the instant of a moment on the wall clock that is given as if it were UTC."""
        return wallclock.instant(moment.replace(tzinfo=None), self.zone)


# Most policies are in one of a few zones, and audited from today on.
@lru_cache(maxsize=64)
def _changes(zone: ZoneInfo, begins: datetime, ends: datetime) -> tuple[ClockChange, ...]:
    return tuple(clock_changes(zone, begins, ends))


def take(timetable: Timetable, first: date, years: int) -> Facts:
    """Return the facts of so many years from midnight of `first`, in the policy's zone."""
    span = Span(
        _midnight(first, timetable.zone),
        _midnight(later(first, years), timetable.zone),
    )
    # Held by hand it would be open or closed throughout, and nothing could be said of its rules.
    return Facts(timetable._replace(state="Scheduled"), span)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the instant at which a day begins."""
    return wallclock.instant(datetime.combine(day, time()), zone)


def span_of(interval: Interval) -> Span:
    """Return minutes of the wall clock as if they were UTC."""
    return Span(*map(wallclock.at, interval))


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
