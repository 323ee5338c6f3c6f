"""Recurring moments, compiled to sets of numbers: the cluster parses no grammar."""

from calendar import isleap
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

from krm_windows.gate import bits

EVERY_MINUTE = frozenset(range(60))
EVERY_HOUR = frozenset(range(24))
EVERY_DAY = frozenset(range(1, 32))
EVERY_MONTH = frozenset(range(1, 13))
EVERY_WEEKDAY = frozenset(range(7))
_SEARCHED_YEARS = 9  # 29 February can be eight years away
_FIRST_DAY, _LAST_DAY = date.min.toordinal(), date.max.toordinal()


@dataclass(frozen=True)
class Recurrence:
    """The wall-clock minutes that all fields allow; a field left out allows everything.

    `days` are 1 to 31, `weekdays` 0 (Sunday) to 6. `either`: the day of the month or the weekday is enough. `nth` (1 to
    5, -1: last) keeps the nth such weekday of a month. `shift` moves whole days later, if need be into the next month.

    Days are counted as `date.toordinal` does, minutes of a day from midnight on.
    """

    minutes: frozenset[int] = EVERY_MINUTE
    hours: frozenset[int] = EVERY_HOUR
    days: frozenset[int] = EVERY_DAY
    months: frozenset[int] = EVERY_MONTH
    weekdays: frozenset[int] = EVERY_WEEKDAY
    either: bool = False
    nth: int | None = None
    shift: int = 0

    @cached_property
    def times(self) -> int:
        """The minutes of a day, as bits."""
        minutes = bits.of(self.minutes)
        return bits.of(hour * 60 for hour in self.hours) * minutes

    @cached_property
    def _named(self) -> dict[int, tuple[int, int]]:
        """By year, once it was asked for: the ordinal of its 1 January, and the days that are named, as bits."""
        return {}

    def matches(self, day: date) -> bool:
        """Whether anything recurs on `day`."""
        return self.on(day.toordinal())

    def on(self, day: int) -> bool:
        """Whether a day is named, whatever the times."""
        named = day - self.shift
        if not _FIRST_DAY <= named <= _LAST_DAY:
            return False
        begins, days = self._year(date.fromordinal(named).year)
        return days >> (named - begins) & 1 == 1

    def day_before(self, day: int) -> int | None:
        """Find the last named day before `day`, some nine years back."""
        named = min(day - self.shift, _LAST_DAY + 1)
        if named <= _FIRST_DAY:
            return None
        year = date.fromordinal(named - 1).year
        for each in range(year, max(year - _SEARCHED_YEARS, 1) - 1, -1):
            begins, days = self._year(each)
            earlier = days & bits.below(named - begins)
            if earlier:
                return begins + bits.last(earlier) + self.shift
        return None

    def day_after(self, day: int) -> int | None:
        """Find the first named day after `day`, some nine years on."""
        named = max(day - self.shift, _FIRST_DAY - 1)
        if named >= _LAST_DAY:
            return None
        year = date.fromordinal(named + 1).year
        for each in range(year, min(year + _SEARCHED_YEARS, date.max.year) + 1):
            begins, days = self._year(each)
            later = days & ~bits.below(named + 1 - begins)
            if later:
                return begins + bits.first(later) + self.shift
        return None

    def at_or_before(self, wall: datetime) -> datetime | None:
        """Find the last moment that is not after `wall`, some nine years back."""
        day = wall.toordinal()
        times = self.times & bits.below(wall.hour * 60 + wall.minute + 1)
        if times and self.on(day):
            return _moment(day, bits.last(times))
        before = self.day_before(day) if self.times else None
        return _moment(before, bits.last(self.times)) if before else None

    def after(self, wall: datetime) -> datetime | None:
        """Find the first moment strictly after `wall`, some nine years on."""
        day = wall.toordinal()
        times = self.times & ~bits.below(wall.hour * 60 + wall.minute + 1)
        if times and self.on(day):
            return _moment(day, bits.first(times))
        later = self.day_after(day) if self.times else None
        return _moment(later, bits.first(self.times)) if later else None

    def _year(self, year: int) -> tuple[int, int]:
        """Give the ordinal of the year's 1 January, and its named days: bit 0 is that day."""
        if year not in self._named:
            self._named[year] = date(year, 1, 1).toordinal(), self._days_of(_calendar(year))
        return self._named[year]

    def _days_of(self, calendar: "_Calendar") -> int:
        on_day = _union(calendar.days, self.days)
        on_weekday = _union(calendar.weekdays, self.weekdays)
        named = on_day | on_weekday if self.either else on_day & on_weekday
        if self.nth is not None:
            named &= calendar.weeks[self.nth]
        return named & _union(calendar.months, self.months)


class _Calendar(NamedTuple):
    """The days of a year as bits: those with a day of the month, a weekday, in a month, in an nth week of a month."""

    days: dict[int, int]
    weekdays: dict[int, int]
    months: dict[int, int]
    weeks: dict[int, int]


@cache
def _calendar(year: int) -> _Calendar:
    lengths = [31, 28 + isleap(year), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    begins = [0, *accumulate(lengths)]
    size, sunday = begins[12], -date(year, 1, 1).isoweekday() % 7
    of_month = zip(begins, lengths, strict=False)
    months = {number: bits.below(length) << begin for number, (begin, length) in enumerate(of_month, 1)}
    days = {
        day: bits.of(begin + day - 1 for begin, length in zip(begins, lengths, strict=False) if day <= length)
        for day in EVERY_DAY
    }
    weekdays = {day: bits.of(range((sunday + day) % 7, size, 7)) for day in EVERY_WEEKDAY}
    # The second Tuesday is the one from the 8th to the 14th, the last one of the last seven days.
    weeks = {nth: _union(days, frozenset(range(nth * 7 - 6, min(nth * 7, 31) + 1))) for nth in range(1, 6)}
    weeks[-1] = bits.of(end - back for end in begins[1:] for back in range(1, 8))
    return _Calendar(days, weekdays, months, weeks)


def _union(sets: dict[int, int], wanted: frozenset[int]) -> int:
    """Join those of `sets` that are wanted."""
    joined = 0
    for number in wanted:
        joined |= sets.get(number, 0)
    return joined


def _moment(day: int, minute: int) -> datetime | None:
    """Give a naive moment; None beyond the last year that has a name."""
    if not _FIRST_DAY <= day <= _LAST_DAY:
        return None
    return datetime.combine(date.fromordinal(day), time(minute // 60, minute % 60))
