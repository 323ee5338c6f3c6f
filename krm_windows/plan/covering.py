"""From a recurrence to the smallest cron schedule that covers it.

A CronJob's five fields are a product of sets, and with both day fields restricted they mean *or*,
so not every set of moments is a schedule. As the schedules only say when the gate runs, one that
fires more often is right; of two that cover, the one with fewer runs is taken.
"""

from calendar import monthrange
from datetime import date, time, timedelta
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from krm_windows.policy.occurrences import CYCLE
from krm_windows.schedule import bits, cron
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence

HOUR = 60
_MINUTE = timedelta(minutes=1)
# Any year without a leap day.
_COMMON_YEAR = 2001


Moments: TypeAlias = set[int]
"""Times on the days that a recurrence names, and around them, as wall-clock minutes.

They are counted from the midnight of a named day on; less than 0 is before it.
"""


class DayFields(NamedTuple):
    """The three day fields of a schedule, as sets."""

    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def fields(self) -> tuple[str, str, str]:
        """Return day of month, month and weekday as cron fields."""
        days = cron.field(self.days, EVERY_DAY)
        months = cron.field(self.months, EVERY_MONTH)
        weekdays = cron.field(self.weekdays, EVERY_WEEKDAY)
        return days, months, weekdays


def moments(recurrence: Recurrence) -> Moments:
    """Return the times of day of a recurrence, on the days it names."""
    return set(bits.numbers(recurrence.times))


def shifted(at: Moments, minutes: int) -> Moments:
    """Return the moments so many wall-clock minutes later (or earlier)."""
    return {moment + minutes for moment in at}


def ends_of(begins: Moments, end: time | timedelta) -> Moments:
    """Return when occurrences of the named day end, by time of day or duration."""
    if isinstance(end, timedelta):
        # A duration ends each occurrence so much later, however many there are on a day.
        return shifted(begins, end // _MINUTE)
    clock = end.hour * HOUR + end.minute
    # What begins before that time ends on its own day, what begins at it or later on the next.
    return {clock if begin < clock else bits.DAY + clock for begin in begins}


def cover(recurrence: Recurrence, at: Moments) -> str:
    """Return the smallest schedule for every moment in `at` of every recurring day."""
    # One schedule has the same times on all days, and each minute in all of its hours.
    minutes = cron.field({moment % HOUR for moment in at}, range(HOUR))
    hours = cron.field({moment // HOUR % 24 for moment in at}, range(24))
    days_later = frozenset(moment // bits.DAY for moment in at)
    day, month, weekday = cover_days(recurrence, days_later).fields()
    return f"{minutes} {hours} {day} {month} {weekday}"


@lru_cache(maxsize=1024)
def cover_days(recurrence: Recurrence, shifts: frozenset[int]) -> DayFields:
    """Return day fields that match each day of the recurrence moved by each of `shifts` days."""
    if recurrence.either and (recurrence.days == EVERY_DAY or recurrence.weekdays == EVERY_WEEKDAY):
        # Either of them is every day; written out, the full field would be a star, and the other
        # one would decide.
        recurrence = recurrence._replace(days=EVERY_DAY, weekdays=EVERY_WEEKDAY, either=False)
    # Fridays moved by a day are Saturdays in any month, so no cycle has to be searched. On all days
    # of the month "either of the day fields" was replaced above, so weekdays alone say it.
    if recurrence.is_weekly:
        moved = product(recurrence.weekdays, shifts)
        weekdays = frozenset((day + shift) % 7 for day, shift in moved)
        return DayFields(EVERY_DAY, EVERY_MONTH, weekdays)
    # An nth day of a month has no cron field, and a shifted day may be in the next month.
    if shifts == {0} and recurrence.nth is None and recurrence.shift == 0:
        return DayFields(recurrence.days, recurrence.months, recurrence.weekdays)
    named = product(recurrence.named(CYCLE), shifts)
    # A day that is moved beyond the end of the cycle is as one at its beginning.
    places = {(day - CYCLE.start + shift) % len(CYCLE) for day, shift in named}
    days = [date.fromordinal(CYCLE[place]) for place in places]
    months = frozenset(day.month for day in days)
    # Both cover; a schedule with both day fields would fire on either of them.
    of_weekdays = DayFields(EVERY_DAY, months, frozenset(day.isoweekday() % 7 for day in days))
    of_days = DayFields(frozenset(day.day for day in days), months, EVERY_WEEKDAY)
    return min(of_weekdays, of_days, key=_firing_days)


def _firing_days(days: DayFields) -> int:
    """Estimate on how many days of seven years these match: each weekday is one of seven days."""
    # Day 31 fires in seven months only, so a product of the sizes of the sets would be wrong.
    dates = 0
    for month in days.months:
        _, length = monthrange(_COMMON_YEAR, month)
        dates += sum(day <= length for day in days.days)
    return dates * len(days.weekdays)
