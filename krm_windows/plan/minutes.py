"""Sets of minutes over many years.

Each is a number with a bit for every minute on a wall clock that never changes. A day is 180 bytes,
so a recurrence is put together day by day, and unions, intervals and edges are a few operations on
whole numbers: twenty years with an edge in every minute cost no more than those with one.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple

from krm_windows.schedule import bits
from krm_windows.schedule.bits import DAY
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Rule

_MINUTE = timedelta(minutes=1)


class Span(NamedTuple):
    """The days from `first` to before `last`, whose minutes are counted from the first on."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days

    def at(self, minute: int) -> datetime:
        """Return the wall-clock time of a minute."""
        return datetime.combine(self.first, time()) + minute * _MINUTE

    def minute(self, day: date) -> int:
        """Return the first minute of a day."""
        return (day - self.first).days * DAY

    def fires(self, recurrence: Recurrence) -> int:
        """Return the minutes at which a recurrence is; bit 0 is the first of `first`."""
        return self._daily(recurrence, recurrence.times)

    def open(self, window: Rule) -> int:
        """Return the minutes in which a recurring window is open; bit 0 is the first of `first`."""
        if not isinstance(window.begins, Recurrence):
            raise TypeError(window.name)
        match window.ends:
            case timedelta() as length:
                lasting = bits.lasting(self.fires(window.begins), length // _MINUTE)
                return self._cut(lasting)
            case time() as clock:
                return self._until_time(window.begins, clock.hour * 60 + clock.minute)
            case Recurrence() as end:
                return self._until_next(self.fires(window.begins), self.fires(end))
            case _:
                raise TypeError(window.name)

    def _cut(self, minutes: int) -> int:
        """Drop what lies behind the last day."""
        return minutes & bits.below(self.days * DAY)

    def _daily(self, recurrence: Recurrence, pattern: int) -> int:
        """Put a pattern onto every day of a recurrence."""
        # Its days are known by their fields; no schedule says an nth day of a month, or moved ones.
        if recurrence.nth is not None or recurrence.shift:
            raise ValueError(recurrence)
        on = pattern.to_bytes(DAY // 8, "little")
        off = bytes(DAY // 8)
        # A day is 1440 minutes, 180 whole bytes; the first day is in the lowest.
        named = _named(recurrence, _fields(self.first, self.days))
        # Each day has the same bytes, so no sum of big numbers is needed, only their concatenation.
        patterns = {True: on, False: off}
        every = b"".join([patterns[is_named] for is_named in named])
        return int.from_bytes(every, "little")

    def _until_time(self, begins: Recurrence, clock: int) -> int:
        """Open from each beginning to the next time of day; one at that time lasts a day."""
        # With the end at 06:00: what begins at 05:00 ends today, what begins at 22:00 tomorrow.
        before = begins.times & bits.below(clock)
        after = begins.times >> clock << clock
        today = _from_lowest(before, clock) | _from_lowest(after, DAY)
        found = self._daily(begins, today)
        if after:
            found |= self._daily(begins, bits.below(clock)) << DAY
        return self._cut(found)

    def _until_next(self, begins: int, ends: int) -> int:
        """Open from each beginning to the first end after it.

        An end that a beginning falls on does not end it.
        """
        # What both begins and ends at a minute goes on: it is filled from its beginning.
        return self._cut(bits.filled(begins, self._cut(~ends)))


@lru_cache(maxsize=4)
def _fields(first: date, days: int) -> tuple[tuple[int, int, int], ...]:
    """Return month, day and cron's weekday of so many days."""
    every = (first + timedelta(days=number) for number in range(days))
    # isoweekday says 7 for Sunday, cron 0.
    return tuple((day.month, day.day, day.isoweekday() % 7) for day in every)


def _named(recurrence: Recurrence, days: Iterable[tuple[int, int, int]]) -> Iterator[bool]:
    """Yield for each day, given as month, day and weekday, whether a recurrence names it."""
    # As locals: a span has thousands of days.
    months = recurrence.months
    days_of_month = recurrence.days
    weekdays = recurrence.weekdays
    if not recurrence.either:
        return (
            month in months and day in days_of_month and weekday in weekdays
            for month, day, weekday in days
        )
    # With both day fields restricted cron means either of them (robfig/cron, SpecSchedule).
    return (
        month in months and (day in days_of_month or weekday in weekdays)
        for month, day, weekday in days
    )


def shortest(minutes: int, most: int) -> int:
    """Return the least distance between two minutes of a set; `most` where it is that, or more."""
    return next((gap for gap in range(1, most) if minutes & minutes >> gap), most)


def _from_lowest(minutes: int, end: int) -> int:
    """Return all minutes from the first of a set up to before an end.

    None where the set is empty.
    """
    if not minutes:
        return 0
    return (1 << end) - (1 << bits.first(minutes))
