"""From a recurrence to the smallest cron schedule that covers it.

A CronJob's five fields are a product of sets, and with both day fields restricted they mean *or*, so not every set of
moments is a schedule. As the schedules only say when the gate runs, one that fires more often is right; of two that cover,
the one with fewer runs is taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import lru_cache, reduce
from itertools import pairwise
from operator import or_

from krm_windows.gate import bits
from krm_windows.gate.recurrence import Calendar, Recurrence, calendar
from krm_windows.policy.occurrences import CYCLE

HOUR, DAY = 60, 24 * 60
_MINUTE = timedelta(minutes=1)
WEEK = frozenset(range(7))
YEAR = frozenset(range(1, 13))
MONTH = frozenset(range(1, 32))


@dataclass(frozen=True, slots=True)
class Moments:
    """Times on the days that a recurrence names, and on those before and after, as wall-clock minutes.

    Bit 0 of `minutes` is the minute `first`, counted from the midnight of a named day on; less than 0 is before it.
    """

    first: int
    minutes: int

    def shifted(self, minutes: int) -> "Moments":
        """Return the moments so many wall-clock minutes later (or earlier)."""
        return Moments(self.first + minutes, self.minutes)

    def on_days(self) -> dict[int, int]:
        """Return the minutes of each day that has some, as bits; days are counted from the named one on."""
        day, begins = divmod(self.first, bits.DAY)
        left = self.minutes << begins
        found = {}
        while left:
            if left & bits.FULL:
                found[day] = left & bits.FULL
            left >>= bits.DAY
            day += 1
        return found


@dataclass(frozen=True, slots=True)
class Days:
    """The three day fields of a schedule, as sets."""

    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def fields(self) -> tuple[str, str, str]:
        """Return day of month, month and weekday as cron fields."""
        return field(self.days, MONTH), field(self.months, YEAR), field(self.weekdays, WEEK)


EVERY_DAY = Days(MONTH, YEAR, WEEK)


def moments(recurrence: Recurrence) -> Moments:
    """Return the times of day of a recurrence, on the days it names."""
    return Moments(0, recurrence.times)


def ends_of(begins: Moments, end: time | timedelta) -> Moments:
    """Return when the occurrences end that begin at these times of the named day, by time of day or duration."""
    if isinstance(end, timedelta):
        return begins.shifted(end // _MINUTE)
    clock = end.hour * HOUR + end.minute
    earlier = begins.minutes & bits.below(clock)
    today, tomorrow = 1 if earlier else 0, 1 if begins.minutes != earlier else 0
    return Moments(clock, today | tomorrow << bits.DAY)


def cover(recurrence: Recurrence, at: Moments) -> str:
    """Return the smallest schedule that fires at every moment in `at` of every day that the recurrence names."""
    on_days = at.on_days()
    hours = hours_at(reduce(or_, on_days.values(), 0))
    day, month, weekday = cover_days(recurrence, frozenset(on_days)).fields()
    return f"{field(hours, range(HOUR))} {field(set().union(*hours.values()), range(24))} {day} {month} {weekday}"


def hours_at(minutes: int) -> dict[int, frozenset[int]]:
    """Return the hours in which each minute of an hour is, of minutes of a day as bits; one that is in none is not."""
    of_hours = [minutes >> HOUR * hour & bits.below(HOUR) for hour in range(24)]
    within = reduce(or_, of_hours)
    return {
        minute: frozenset(hour for hour, of_hour in enumerate(of_hours) if of_hour >> minute & 1)
        for minute in range(HOUR)
        if within >> minute & 1
    }


@lru_cache(maxsize=1024)
def cover_days(recurrence: Recurrence, shifts: frozenset[int]) -> Days:
    """Return day fields that match each day of the recurrence moved by each of `shifts` days."""
    if recurrence.either and (recurrence.days == MONTH or recurrence.weekdays == WEEK):
        # Either of them is every day; written out, the full field would be a star, and the other one would decide.
        recurrence = replace(recurrence, days=MONTH, weekdays=WEEK, either=False)
    if _plain(recurrence):
        return Days(
            MONTH,
            YEAR,
            frozenset((day + shift) % 7 for day in recurrence.weekdays for shift in shifts),
        )
    if shifts == {0} and recurrence.nth is None and recurrence.shift == 0:
        return Days(recurrence.days, recurrence.months, recurrence.weekdays)
    # A day that is moved beyond the end of the cycle is as one at its beginning.
    cycle = calendar(*CYCLE)
    named = recurrence.days_of(cycle)
    return _smallest(
        reduce(or_, (_in_cycle(named << shift % cycle.length, cycle) for shift in shifts)), cycle
    )


def _plain(recurrence: Recurrence) -> bool:
    """Whether weekdays alone say which days are meant."""
    full = recurrence.days == MONTH and recurrence.months == YEAR
    return full and not recurrence.either and recurrence.nth is None and recurrence.shift == 0


def _in_cycle(days: int, cycle: Calendar) -> int:
    """Return days of the cycle for those that lie beyond its end."""
    while days >> cycle.length:
        days = days & bits.below(cycle.length) | days >> cycle.length
    return days


def _smallest(wanted: int, cycle: Calendar) -> Days:
    """Return the rarer of the day fields, with weekdays alone or with days of the month, that match days of a cycle."""
    months = frozenset(month for month in YEAR if wanted & cycle.months[frozenset({month})])
    weekdays = frozenset(day for day in WEEK if wanted & cycle.weekdays[frozenset({day})])
    days = frozenset(day for day in MONTH if wanted & cycle.days[frozenset({day})])
    return min(Days(MONTH, months, weekdays), Days(days, months, WEEK), key=_runs)


def _runs(days: Days) -> float:
    """Estimate the firing days a year: a twelfth of it a month, a seventh a weekday."""
    per_month = sum(sum(day <= length for day in days.days) for length in map(_length, days.months))
    return per_month * len(days.weekdays) / 7


def _length(month: int) -> float:
    return 28.25 if month == 2 else (date(2001, month % 12 + 1, 1) - timedelta(1)).day  # noqa: PLR2004 - February


def field(values: Iterable[int], full: Iterable[int]) -> str:
    """Return a set as a cron field: a star, or numbers with runs of three and more as ranges."""
    wanted = sorted(set(values))
    if wanted == list(full):
        return "*"
    return ",".join(_run(run) for run in _runs_of(wanted))


def _run(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run))  # noqa: PLR2004 - two read shorter


def _runs_of(values: list[int]) -> Iterator[list[int]]:
    breaks = [i for i, (a, b) in enumerate(pairwise(values), 1) if b != a + 1]
    return (values[i:j] for i, j in zip([0, *breaks], [*breaks, len(values)], strict=True))
