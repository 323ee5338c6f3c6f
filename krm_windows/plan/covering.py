"""From a recurrence to the smallest cron schedule that covers it.

A CronJob's five fields are a product of sets, and with both day fields restricted they mean *or*, so not every set of
moments is a schedule. As the schedules only say when to look, one that fires more often is right; of two that cover,
the one with fewer runs is taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import pairwise

from krm_windows.gate.recurrence import Recurrence

DAY = 24 * 60
WEEK = frozenset(range(7))
YEAR = frozenset(range(1, 13))
MONTH = frozenset(range(1, 32))
# Twenty-eight years without a century turn hold every pairing of weekday, date and leap year.
_CYCLE = (date(2001, 1, 1), date(2028, 12, 31))


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A time of day, `days` after the day that a recurrence names; `minute` in wall-clock minutes, 0 to 1439."""

    days: int
    minute: int

    def shifted(self, minutes: int) -> "Moment":
        """Return the moment so many wall-clock minutes later (or earlier)."""
        days, minute = divmod(self.days * DAY + self.minute + minutes, DAY)
        return Moment(days, minute)


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


def moments(recurrence: Recurrence) -> frozenset[Moment]:
    """Return the times of day of a recurrence, on the days it names."""
    return frozenset(Moment(0, hour * 60 + minute) for hour in recurrence.hours for minute in recurrence.minutes)


def ends_of(begin: Moment, end: time | timedelta) -> Moment:
    """Return when an occurrence that begins at `begin` ends, by time of day or duration."""
    if isinstance(end, timedelta):
        return begin.shifted(int(end.total_seconds()) // 60)
    until = (end.hour * 60 + end.minute - begin.minute) % DAY or DAY
    return begin.shifted(until)


def cover(recurrence: Recurrence, at: Iterable[Moment]) -> str:
    """Return the smallest schedule that fires at every moment in `at` of every day that the recurrence names."""
    wanted = frozenset(at)
    minutes = field({moment.minute % 60 for moment in wanted}, range(60))
    hours = field({moment.minute // 60 for moment in wanted}, range(24))
    day, month, weekday = cover_days(recurrence, frozenset(moment.days for moment in wanted)).fields()
    return f"{minutes} {hours} {day} {month} {weekday}"


@lru_cache(maxsize=1024)
def cover_days(recurrence: Recurrence, shifts: frozenset[int]) -> Days:
    """Return day fields that match each day of the recurrence moved by each of `shifts` days."""
    if recurrence.either and (recurrence.days == MONTH or recurrence.weekdays == WEEK):
        # Either of them is every day; written out, the full field would be a star, and the other one would decide.
        recurrence = replace(recurrence, days=MONTH, weekdays=WEEK, either=False)
    if _plain(recurrence):
        return Days(MONTH, YEAR, frozenset((day + shift) % 7 for day in recurrence.weekdays for shift in shifts))
    if shifts == {0} and recurrence.nth is None and recurrence.shift == 0:
        return Days(recurrence.days, recurrence.months, recurrence.weekdays)
    return _smallest([day + timedelta(shift) for day in _named(recurrence) for shift in sorted(shifts)])


def _plain(recurrence: Recurrence) -> bool:
    """Whether weekdays alone say which days are meant."""
    full = recurrence.days == MONTH and recurrence.months == YEAR
    return full and not recurrence.either and recurrence.nth is None and recurrence.shift == 0


def _named(recurrence: Recurrence) -> Iterator[date]:
    first, last = _CYCLE
    return (day for day in (first + timedelta(n) for n in range((last - first).days + 1)) if recurrence.matches(day))


def _smallest(days: Iterable[date]) -> Days:
    wanted = list(days)
    months = frozenset(day.month for day in wanted)
    by_weekday = Days(MONTH, months, frozenset(weekday(day) for day in wanted))
    by_date = Days(frozenset(day.day for day in wanted), months, WEEK)
    return min(by_weekday, by_date, key=_runs)


def _runs(days: Days) -> float:
    """Estimate the firing days a year: a twelfth of it a month, a seventh a weekday."""
    per_month = sum(sum(day <= length for day in days.days) for length in map(_length, days.months))
    return per_month * len(days.weekdays) / 7


def _length(month: int) -> float:
    return 28.25 if month == 2 else (date(2001, month % 12 + 1, 1) - timedelta(1)).day  # noqa: PLR2004 - February


def weekday(day: date) -> int:
    """Return cron's weekday, Sunday being 0."""
    return day.isoweekday() % 7


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


def wall_moment(at: datetime) -> int:
    """Return the minute of the day of a point in time, in its own clock."""
    return at.hour * 60 + at.minute
