"""Recurring moments, compiled to sets of numbers: the cluster parses no grammar."""

from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from krm_windows.schedule import bits

EVERY_MINUTE = frozenset(range(60))
EVERY_HOUR = frozenset(range(24))
EVERY_DAY = frozenset(range(1, 32))
EVERY_MONTH = frozenset(range(1, 13))
EVERY_WEEKDAY = frozenset(range(7))  # 0 is Sunday, as in cron
SEARCHED_DAYS = 9 * 366  # 29 February can be eight years away: 2096, 2104


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

    @property
    def is_weekly(self) -> bool:
        """Whether it is every week on all of its `weekdays`, and on no other day."""
        # Weekdays moved by a shift are weekly, too, but they are others than `weekdays` says. No
        # policy has such a recurrence: only an nth day of a month is shifted.
        every_day = self.days == EVERY_DAY and self.months == EVERY_MONTH
        return every_day and self.nth is None and self.shift == 0

    def on(self, day: int) -> bool:
        """Whether a day, an ordinal, is named, whatever the times."""
        named = day - self.shift
        if not bits.FIRST_DAY <= named <= bits.LAST_DAY:
            return False  # of the year 0, or 10000
        found = date.fromordinal(named)
        if found.month not in self.months or not self._matches(found.day, found.isoweekday()):
            return False
        return self.nth is None or day in self._nth_of(found, self.nth)

    def _matches(self, day: int, weekday: int) -> bool:
        found = (day in self.days) + (weekday % 7 in self.weekdays)
        # Which of the two is meant, was decided by whoever read the schedule.
        return found >= (1 if self.either else 2)  # `0 8 13 * 5` is every 13th and every Friday

    def _nth_of(self, month: date, nth: int) -> list[int]:
        """Return the day that is named in the month of a date, if there is one."""
        _, last = monthrange(month.year, month.month)
        weekday = month.isoweekday() - month.day
        days = [day for day in range(1, last + 1) if self._matches(day, weekday + day)]
        counted = days if nth > 0 else days[::-1]
        begins = month.toordinal() - month.day + self.shift
        return [begins + day for day in counted[abs(nth) - 1 : abs(nth)]]

    def after(self, wall: datetime) -> datetime | None:
        """Find the first moment strictly after the naive `wall`, some nine years on.

        None if there is none, or none that has a date.
        """
        today = wall.toordinal()
        passed = bits.below(wall.hour * 60 + wall.minute + 1)
        return self._nearest(range(today, today + SEARCHED_DAYS + 1), ~passed, bits.first)

    def at_or_before(self, wall: datetime) -> datetime | None:
        """Find the last moment that is not after the naive `wall`, some nine years back."""
        today = wall.toordinal()
        reached = bits.below(wall.hour * 60 + wall.minute + 1)
        return self._nearest(range(today, today - SEARCHED_DAYS - 1, -1), reached, bits.last)

    def _nearest(
        self, days: range, on_first: int, nearest: Callable[[int], int]
    ) -> datetime | None:
        """Find the nearest moment on some days, with only some minutes of the first of them."""
        for day in days:
            times = self.times & on_first if day == days[0] else self.times
            if times and self.on(day):
                return bits.moment(day, nearest(times))
        return None

    def named(self, days: range) -> list[int]:
        """Return those of some days that are named."""
        first = max(days.start - self.shift, bits.FIRST_DAY)
        last = min(days.stop - self.shift, bits.LAST_DAY + 1)
        if self.nth is not None:
            # No month is shorter than such a step.
            dates = map(date.fromordinal, (*range(first, last, 28), max(first, last - 1)))
            touched = {each.replace(day=1) for each in dates if each.month in self.months}
            named = chain.from_iterable(self._nth_of(each, self.nth) for each in touched)
            return sorted(day for day in named if day in days)
        # As locals: a policy may have a thousand windows, and a table thousands of days.
        months, on, weekdays, shift = self.months, self.days, self.weekdays, self.shift
        wanted = 1 if self.either else 2
        return [
            day + shift
            for day, month, of_month, weekday in _fields(range(first, last))
            if month in months and (of_month in on) + (weekday in weekdays) >= wanted
        ]


@lru_cache(maxsize=8)
def _fields(days: range) -> list[tuple[int, int, int, int]]:
    """Return each day with its month, its day of the month and its weekday."""
    dates = [(day, date.fromordinal(day)) for day in days]
    return [(day, at.month, at.day, at.isoweekday() % 7) for day, at in dates]


@lru_cache(maxsize=4096)
def _times(minutes: frozenset[int], hours: frozenset[int]) -> int:
    # The minutes of an hour, put at each hour: the product of two sums of powers of two.
    return bits.of(minutes) * bits.of([hour * 60 for hour in hours])
