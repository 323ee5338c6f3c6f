"""The days of a recurrence in plain English, said from what it means, whatever its spelling.

Cron's two day fields make this needed: once both are restricted, a day that matches *either* of
them is enough (crontab(5), and so robfig/cron, which Kubernetes runs). `0 8 1-31 * MON` restricts
both, and is every day.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from krm_windows.plurals import counted
from krm_windows.policy.moments import ORDINALS, WEEKDAYS
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import EVERY_MONTH, EVERY_WEEKDAY, Recurrence

EVERY_DAY = "every day"

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# The order in which a week is said; cron counts from Sunday.
_MONDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)
_NTH = {number: name for name, number in ORDINALS.items()}
_OF_NTH = {
    EVERY_WEEKDAY: "day",
    frozenset(range(1, 6)): "workday (Monday to Friday)",
    **{frozenset({number}): name for number, name in enumerate(WEEKDAYS)},
}
_RANGE = 3
"""So many in a row are said as a range; two read shorter as they are."""


def days(recurrence: Recurrence) -> str:
    """Say on which days something recurs.

    `every day`, `Monday to Friday in May`, `day 1 of the month`.

    The words are true of exactly the days that `Recurrence.on` is true of.
    """
    if recurrence.nth is not None:
        return _nth(recurrence, recurrence.nth)
    months = recurrence.months
    longest = max(cron.LONGEST_MONTHS[month] for month in months)
    # What one of the months has: 31 means nothing in April, and 1 to 29 are all of February.
    dates = frozenset(day for day in recurrence.days if day <= longest)
    every_date = len(dates) == longest
    every_weekday = recurrence.weekdays == EVERY_WEEKDAY
    # One of two is enough, and one of them is always so; or no day field restricts anything.
    if (every_date and every_weekday) or (recurrence.either and (every_date or every_weekday)):
        return EVERY_DAY + _in(months)
    weekdays = _weekdays(recurrence.weekdays)
    # Day 31 in April alone never comes, so only the weekdays are left.
    if every_date or not dates:
        return weekdays + _in(months)
    named = _dates(dates, months)
    if every_weekday or not weekdays:
        return named
    # Of two that are enough each says its months, as both are bound to them.
    if recurrence.either:
        return f"{weekdays}{_in(months)} or {named}"
    return f"{weekdays} if it is {named}"


def _nth(recurrence: Recurrence, nth: int) -> str:
    named = f"{_NTH[nth]} {_OF_NTH[recurrence.weekdays]} of the month"
    if not recurrence.shift:
        return named
    return f"{counted(recurrence.shift, 'day')} after the {named}"


def _dates(dates: Collection[int], months: Collection[int]) -> str:
    named = "the month"
    if months != EVERY_MONTH:
        # Without those that are too short for any of the days.
        named = _months(month for month in months if min(dates) <= cron.LONGEST_MONTHS[month])
    return f"{'day' if len(dates) == 1 else 'days'} {numbers(dates)} of {named}"


def _in(months: Collection[int]) -> str:
    return "" if months == EVERY_MONTH else f" in {_months(months)}"


def _months(months: Iterable[int]) -> str:
    return _listed_ranges(sorted(months), lambda month: _MONTHS[month - 1])


def _weekdays(chosen: Collection[int]) -> str:
    """Say days of the week, the first of a row first: a row may go on over the weekend."""
    # Where the day before is not chosen, a row begins; where all are, the week begins on Monday.
    firsts = [day for day in _MONDAY_FIRST if day in chosen and (day - 1) % 7 not in chosen]
    first = firsts[0] if firsts else 1
    # Counted from that day on, a row never ends in the middle.
    places = [place for place in range(7) if (first + place) % 7 in chosen]
    return _listed_ranges(places, lambda place: WEEKDAYS[(first + place) % 7])


def numbers(chosen: Collection[int]) -> str:
    """Say numbers in their order, those in a row as a range: `1 to 7 and 15`."""
    return _listed_ranges(sorted(chosen), str)


def _listed_ranges(places: Iterable[int], name: Callable[[int], str]) -> str:
    said: list[str] = []
    for run in cron.runs(places):
        names = [name(value) for value in run]
        # `Monday and Tuesday`, but `Monday to Wednesday`.
        said += names if len(run) < _RANGE else [f"{names[0]} to {names[-1]}"]
    return listed(said)


def listed(items: Sequence[str]) -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
