"""Recurring moments, compiled to sets of numbers: the cluster parses no grammar."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

EVERY_MINUTE = frozenset(range(60))
EVERY_HOUR = frozenset(range(24))
EVERY_DAY = frozenset(range(1, 32))
EVERY_MONTH = frozenset(range(1, 13))
EVERY_WEEKDAY = frozenset(range(7))
_SEARCHED_DAYS = 9 * 366  # 29 February can be eight years away


@dataclass(frozen=True)
class Recurrence:
    """The wall-clock minutes that all fields allow; a field left out allows everything.

    `days` are 1 to 31, `weekdays` 0 (Sunday) to 6. `either`: the day of the month or the weekday is enough. `nth` (1 to
    5, -1: last) keeps the nth such weekday of a month. `shift` moves whole days later, if need be into the next month.
    """

    minutes: frozenset[int] = EVERY_MINUTE
    hours: frozenset[int] = EVERY_HOUR
    days: frozenset[int] = EVERY_DAY
    months: frozenset[int] = EVERY_MONTH
    weekdays: frozenset[int] = EVERY_WEEKDAY
    either: bool = False
    nth: int | None = None
    shift: int = 0

    def matches(self, day: date) -> bool:
        """Whether anything recurs on `day`."""
        named = day - timedelta(days=self.shift)
        on_day, on_weekday = named.day in self.days, named.isoweekday() % 7 in self.weekdays
        if named.month not in self.months or not (on_day or on_weekday if self.either else on_day and on_weekday):
            return False
        last = (named + timedelta(days=7)).month != named.month
        return self.nth in (None, (named.day + 6) // 7, -1 if last else None)

    def at_or_before(self, wall: datetime) -> datetime | None:
        """Find the last moment that is not after `wall`, at most nine years back."""
        return next((moment for moment in self._moments(wall, -1) if moment <= wall), None)

    def after(self, wall: datetime) -> datetime | None:
        """Find the first moment strictly after `wall`, at most nine years on."""
        return next((moment for moment in self._moments(wall, 1) if moment > wall), None)

    def _moments(self, wall: datetime, step: int) -> Iterator[datetime]:
        """Give the moments from the hour of `wall` on, forwards or, with `step` -1, backwards."""
        hours, minutes = sorted(self.hours)[::step], sorted(self.minutes)[::step]
        days = filter(self.matches, (wall.date() + timedelta(days=step * count) for count in range(_SEARCHED_DAYS)))
        near = ((day, hour) for day in days for hour in hours if day != wall.date() or hour * step >= wall.hour * step)
        return (datetime.combine(day, time(hour, minute)) for day, hour in near for minute in minutes)
