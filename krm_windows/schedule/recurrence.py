"""Recurring moments, compiled to sets of numbers: the cluster parses no grammar."""

from calendar import monthrange
from datetime import date, datetime
from functools import cache, lru_cache
from typing import NamedTuple

from krm_windows.schedule import bits

EVERY_MINUTE = frozenset(range(60))
EVERY_HOUR = frozenset(range(24))
EVERY_DAY = frozenset(range(1, 32))
EVERY_MONTH = frozenset(range(1, 13))
EVERY_WEEKDAY = frozenset(range(7))  # 0 is Sunday, as in cron
_SEARCHED_YEARS = 9  # 29 February can be eight years away: 2096, 2104
_WEEK = 7


class Recurrence(NamedTuple):
    """The wall-clock minutes that all fields allow; a field left out allows everything.

    `days` are 1 to 31, `weekdays` 0 (Sunday) to 6. `either`: the day of the month or the weekday is
    enough, as in cron. `nth` keeps one of the days of a month that they name: 2 is the second, -1
    the last. `shift` moves whole days later, if need be into the next month.

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

    @property
    def times(self) -> int:
        """The minutes of a day, as bits."""
        return _times(self.minutes, self.hours)

    def on(self, day: int) -> bool:
        """Whether a day, an ordinal, is named, whatever the times."""
        named = day - self.shift
        if not bits.FIRST_DAY <= named <= bits.LAST_DAY:
            return False  # of the year 0, or 10000
        year = date.fromordinal(named).year
        days = calendar(year, year)
        return self.days_of(days) >> (day - days.first) & 1 == 1

    def after(self, wall: datetime) -> datetime | None:
        """Find the first moment strictly after the naive `wall`, some nine years on.

        None if there is none, or none that has a date.
        """
        if not self.times:
            return None
        today = wall.toordinal()
        times = self.times & ~bits.below(wall.hour * 60 + wall.minute + 1)
        if times and self.on(today):
            return bits.moment(today, bits.first(times))
        # A day of the year before may be moved into this one.
        first_year = max(wall.year - 1, date.min.year)
        last_year = min(wall.year + _SEARCHED_YEARS, date.max.year)
        days = calendar(first_year, last_year)
        later = self.days_of(days) & ~bits.below(today + 1 - days.first)
        day = days.first + bits.first(later)
        if not later or day > bits.LAST_DAY:
            return None
        return bits.moment(day, bits.first(self.times))

    def named(self, days: range) -> list[int]:
        """Return those of some days that are named."""
        # A day of the year before may be moved into these.
        first_year = max(date.fromordinal(max(days.start, bits.FIRST_DAY)).year - 1, date.min.year)
        last_year = date.fromordinal(min(days.stop, bits.LAST_DAY)).year
        years = calendar(first_year, last_year)
        named = f"{self.days_of(years):b}"[::-1]  # quicker than a shift of a long number a day
        shown = ((years.first + number, bit) for number, bit in enumerate(named))
        return [day for day, bit in shown if bit == "1" and day in days]

    def days_of(self, years: "Calendar") -> int:
        """Return the days of some years that are named, as bits.

        A shift may lead beyond their end.
        """
        on_day = years.days[self.days]
        on_weekday = years.weekdays[self.weekdays]
        # Which of the two is meant, was decided by whoever read the schedule.
        named = on_day & on_weekday
        if self.either:  # in cron, `0 8 13 * 5` is every 13th and every Friday
            named = on_day | on_weekday
        if self.nth is not None:
            named = years.nth_of_months(named, self.nth)
        # "The day after the second Tuesday" is moved by one.
        return (named & years.months[self.months]) << self.shift


@lru_cache(maxsize=4096)
def _times(minutes: frozenset[int], hours: frozenset[int]) -> int:
    # The minutes of an hour, put at each hour: the product of two sums of powers of two.
    return bits.of(minutes) * bits.of([hour * 60 for hour in hours])


class Calendar(NamedTuple):
    """The days of years as bits, by day of the month, weekday and month.

    Bit 0 is `first`, an ordinal, the 1 January of the first year; there are `length` days. `spans`
    are each month's first bit and its length.
    """

    first: int
    length: int
    days: "_Joined"
    weekdays: "_Joined"
    months: "_Joined"
    spans: tuple[tuple[int, int], ...]

    def nth_of_months(self, named: int, nth: int) -> int:
        """Return the nth of the named days of each month, counted from its end where negative."""
        found = 0
        for begin, length in self.spans:
            days = named >> begin & bits.below(length)
            for _ in range(abs(nth) - 1):
                days ^= _outermost(days, nth)
            found |= _outermost(days, nth) << begin
        return found


def _outermost(days: int, nth: int) -> int:
    """Return the first bit of a set, or the last one for a negative `nth`; none has none."""
    if not days:
        return 0
    return 1 << (bits.first(days) if nth > 0 else bits.last(days))


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
    months = dict.fromkeys(sorted(EVERY_MONTH), 0)  # from January on
    firsts = 0
    spans = []
    begin = 0  # of the month, counted from the first day on
    for year in range(first_year, last_year + 1):
        for month in months:
            _, length = monthrange(year, month)
            months[month] |= bits.below(length) << begin
            firsts |= 1 << begin
            spans.append((begin, length))
            begin += length
    every = bits.below(begin)
    days = {1: firsts}
    for day in range(1, 31):
        # The day after each, unless that is the first of the next month.
        days[day + 1] = (days[day] << 1) & every & ~firsts
    sevenths = bits.of(range(0, begin, _WEEK))
    # The ordinals of Sundays are multiples of seven.
    weekdays = {each: (sevenths << (each - first) % _WEEK) & every for each in EVERY_WEEKDAY}
    joined = (_Joined(days), _Joined(weekdays), _Joined(months))
    return Calendar(first, begin, *joined, tuple(spans))
