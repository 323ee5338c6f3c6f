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
    dates = _possible(recurrence)
    longest = max(cron.LONGEST_MONTHS[month] for month in recurrence.months)
    # In February days 1 to 29 are every date.
    every_date = dates == frozenset(range(1, longest + 1))
    every_weekday = recurrence.weekdays == EVERY_WEEKDAY
    # One of two is enough, and one of them is always so.
    if recurrence.either:
        return _either(recurrence, dates, every=every_date or every_weekday)
    # No day field restricts anything.
    if every_date and every_weekday:
        return EVERY_DAY + _in(recurrence.months)
    if every_date:
        return _weekdays(recurrence.weekdays) + _in(recurrence.months)
    months = _with_any(recurrence.months, dates)
    if every_weekday:
        return _dates(dates, months)
    return f"{_weekdays(recurrence.weekdays)} if it is {_dates(dates, months)}"


def _nth(recurrence: Recurrence, nth: int) -> str:
    named = f"{_NTH[nth]} {_OF_NTH[recurrence.weekdays]} of the month"
    if not recurrence.shift:
        return named
    return f"{counted(recurrence.shift, 'day')} after the {named}"


def _either(
    recurrence: Recurrence,
    dates: frozenset[int],
    *,
    every: bool,
) -> str:
    """Say days of the month and of the week of which one is enough.

    Each says its months, as both are bound to them.
    """
    if every:
        return EVERY_DAY + _in(recurrence.months)
    weekdays = _weekdays(recurrence.weekdays) + _in(recurrence.months)
    # Day 31 in April alone never comes, so only the weekdays are left.
    if not dates:
        return weekdays
    named = _dates(dates, _with_any(recurrence.months, dates))
    if not recurrence.weekdays:
        return named
    return f"{weekdays} or {named}"


def _possible(recurrence: Recurrence) -> frozenset[int]:
    """Return the days of the month that one of the months has: 31 means nothing in April."""
    longest = max(cron.LONGEST_MONTHS[month] for month in recurrence.months)
    return frozenset(day for day in recurrence.days if day <= longest)


def _with_any(months: frozenset[int], dates: frozenset[int]) -> frozenset[int]:
    """Leave out months that are too short for any of the days, where months are named at all."""
    if months == EVERY_MONTH:
        return months
    return frozenset(month for month in months if min(dates) <= cron.LONGEST_MONTHS[month])


def _dates(dates: Collection[int], months: frozenset[int]) -> str:
    named = "the month"
    if months != EVERY_MONTH:
        named = _named_months(months)
    noun = "days"
    if len(dates) == 1:
        noun = "day"
    return f"{noun} {numbers(dates)} of {named}"


def _in(months: frozenset[int]) -> str:
    if months == EVERY_MONTH:
        return ""
    return f" in {_named_months(months)}"


def _named_months(months: Collection[int]) -> str:
    return listed(_ranges(cron.runs(sorted(months)), _month))


def _month(number: int) -> str:
    return _MONTHS[number - 1]


def _weekdays(chosen: Collection[int]) -> str:
    """Say days of the week, the first of a row first: a row may go on over the weekend."""
    # Where the day before is not chosen, a row begins.
    firsts = [day for day in _MONDAY_FIRST if day in chosen and (day - 1) % 7 not in chosen]
    # Where all are chosen, no day begins a row, and the week begins on Monday.
    first = 1
    if firsts:
        first = firsts[0]

    def name(place: int) -> str:
        return WEEKDAYS[(first + place) % 7]

    # Counted from that day on, a row never ends in the middle.
    places = [place for place in range(7) if (first + place) % 7 in chosen]
    return listed(_ranges(cron.runs(places), name))


def numbers(chosen: Collection[int]) -> str:
    """Say numbers in their order, those in a row as a range: `1 to 7 and 15`."""
    return listed(_ranges(cron.runs(sorted(chosen)), str))


def _ranges(runs: Iterable[list[int]], name: Callable[[int], str]) -> list[str]:
    said: list[str] = []
    for run in runs:
        names = [name(value) for value in run]
        # `Monday and Tuesday`, but `Monday to Wednesday`.
        if len(run) < _RANGE:
            said += names
        else:
            said.append(f"{names[0]} to {names[-1]}")
    return said


def listed(items: Sequence[str]) -> str:
    """Join words: `a`, `a and b`, `a, b and c`."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
