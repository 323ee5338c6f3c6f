"""Recurring moments, compiled to sets of numbers: the cluster parses no grammar."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache, cached_property
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

    `days` are 1 to 31, `weekdays` 0 (Sunday) to 6. `either`: the day of the month or the weekday is
    enough, as in cron. `nth` (1 to 5, -1: last) keeps the nth such weekday of a month. `shift`
    moves whole days later, if need be into the next month.

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
        # The minutes of an hour, put at each hour: the product of two sums of powers of two.
        return bits.of(hour * 60 for hour in self.hours) * minutes

    @cached_property
    def _named(self) -> dict[int, tuple[int, int]]:
        """By year, once it was asked for: its 1 January as an ordinal, its named days as bits."""
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
        if not self.times:
            return None
        before = self.day_before(day)
        return _moment(before, bits.last(self.times)) if before else None

    def after(self, wall: datetime) -> datetime | None:
        """Find the first moment strictly after `wall`, some nine years on."""
        day = wall.toordinal()
        times = self.times & ~bits.below(wall.hour * 60 + wall.minute + 1)
        if times and self.on(day):
            return _moment(day, bits.first(times))
        if not self.times:
            return None
        later = self.day_after(day)
        return _moment(later, bits.first(self.times)) if later else None

    def _year(self, year: int) -> tuple[int, int]:
        """Give the ordinal of the year's 1 January, and its named days: bit 0 is that day."""
        if year not in self._named:
            first = date(year, 1, 1).toordinal()
            self._named[year] = first, self._days_of(calendar(year, year))
        return self._named[year]

    def days_of(self, years: "Calendar") -> int:
        """Return the days of some years that are named, as bits.

        A shift may lead beyond their end.
        """
        return self._days_of(years) << self.shift

    def _days_of(self, calendar: "Calendar") -> int:
        on_day = calendar.days[self.days]
        on_weekday = calendar.weekdays[self.weekdays]
        # Which of the two is meant, was decided by whoever read the schedule.
        named = on_day | on_weekday if self.either else on_day & on_weekday
        if self.nth is not None:
            named &= calendar.weeks[self.nth]
        return named & calendar.months[self.months]


class Calendar(NamedTuple):
    """The days of years as bits, by day of the month, weekday, month, and nth week of a month.

    Bit 0 is `first`, an ordinal, the 1 January of the first year; there are `length` days.
    """

    first: int
    length: int
    days: "_Joined"
    weekdays: "_Joined"
    months: "_Joined"
    weeks: dict[int, int]


class _Joined(dict[frozenset[int], int]):
    """Sets that are joined where several are asked for, once each: windows share their days."""

    def __init__(self, sets: dict[int, int]) -> None:
        super().__init__()
        self._sets = sets

    def __missing__(self, wanted: frozenset[int]) -> int:
        joined = 0
        for number in wanted:
            joined |= self._sets.get(number, 0)
        self[wanted] = joined
        return joined


@cache
def calendar(first_year: int, last_year: int) -> Calendar:
    """Return the days from one year's first to another one's last."""
    first = date(first_year, 1, 1).toordinal()
    length = date(last_year, 12, 31).toordinal() - first + 1
    days, months = dict.fromkeys(EVERY_DAY, 0), dict.fromkeys(EVERY_MONTH, 0)
    begin = final_week = 0
    for year in range(first_year, last_year + 1):
        for month in months:
            size = monthrange(year, month)[1]
            months[month] |= bits.below(size) << begin
            for day in range(1, size + 1):
                days[day] |= 1 << (begin + day - 1)
            begin += size
            final_week |= bits.below(7) << (begin - 7)
    sunday = -first % 7
    weekdays = {day: bits.of(range((sunday + day) % 7, length, 7)) for day in EVERY_WEEKDAY}
    # The second Tuesday is the one from the 8th to the 14th, the last one of the last seven days.
    of_days = _Joined(days)
    weeks = {nth: of_days[frozenset(range(nth * 7 - 6, nth * 7 + 1))] for nth in range(1, 6)}
    weeks[-1] = final_week
    return Calendar(first, length, of_days, _Joined(weekdays), _Joined(months), weeks)


def _moment(day: int, minute: int) -> datetime | None:
    """Give a naive moment; None beyond the last year that has a name."""
    if not _FIRST_DAY <= day <= _LAST_DAY:
        return None
    return datetime.combine(date.fromordinal(day), time(minute // 60, minute % 60))
