"""Moments in plain English, for annotations and explanations: `Monday 08:00 to Thursday 17:00`."""

from collections.abc import Collection, Iterable
from datetime import time, timedelta

from krm_windows.gate.recurrence import EVERY_DAY, EVERY_HOUR, EVERY_MINUTE, EVERY_MONTH, EVERY_WEEKDAY, Recurrence
from krm_windows.policy.moments import ORDINALS, WEEKDAYS, Moment, Value

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
_MONDAY_FIRST = (1, 2, 3, 4, 5, 6, 0)
_NTH = {number: name for name, number in ORDINALS.items()}
_UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))
_FEW = 6


def occurrence(begins: Moment[Value] | None, ends: Moment[Value] | timedelta) -> str:
    """Say when something that begins and ends takes place."""
    if begins is None:
        return f"until {_end(ends)}"
    link = {time: "until", timedelta: "for"}.get(type(ends.value if isinstance(ends, Moment) else ends), "to")
    return f"{moment(begins)} {link} {_end(ends)}"


def moment(at: Moment[Value]) -> str:
    """Say a moment: what recurs by its days and times, what does not as it was written."""
    if isinstance(at.value, Recurrence):
        return " ".join(part for part in (_days(at.value), _times(at.value)) if part)
    return at.text.replace("T", " ")


def duration(length: timedelta) -> str:
    """Say a length of time: `1 hour 30 minutes`."""
    parts = []
    for unit, size in _UNITS:
        count, length = divmod(length, size)
        if count:
            parts.append(_counted(count, unit))
    return " ".join(parts) or "0 minutes"


def _end(ends: Moment[Value] | timedelta) -> str:
    return moment(ends) if isinstance(ends, Moment) else duration(ends)


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _days(recurrence: Recurrence) -> str:
    if recurrence.nth is not None:
        (weekday,) = recurrence.weekdays
        named = f"{_NTH[recurrence.nth]} {WEEKDAYS[weekday]} of the month"
        return f"{_counted(recurrence.shift, 'day')} after the {named}" if recurrence.shift else named
    dated = recurrence.days != EVERY_DAY
    parts = [f"day {_list(sorted(recurrence.days))} of the month"] if dated else []
    if recurrence.weekdays != EVERY_WEEKDAY or (recurrence.either and not dated):
        parts.append(_weekdays(recurrence.weekdays))
    days = (" or " if recurrence.either else " and ").join(parts) or ("daily" if _few(recurrence) else "")
    if recurrence.months == EVERY_MONTH:
        return days
    return f"{days} in {_list(_MONTHS[month - 1] for month in sorted(recurrence.months))}".strip()


def _weekdays(numbers: Collection[int]) -> str:
    """Say days of the week: three and more in a row, over the weekend too, as a range."""
    firsts = [day for day in _MONDAY_FIRST if day in numbers and (day - 1) % 7 not in numbers]
    runs = [[(first + i) % 7 for i in range(_length(first, numbers))] for first in firsts] or [list(_MONDAY_FIRST)]
    return _list(name for run in runs for name in _run(run))


def _length(first: int, numbers: Collection[int]) -> int:
    return next(i for i in range(1, 8) if (first + i) % 7 not in numbers)


def _run(run: list[int]) -> list[str]:
    names = [WEEKDAYS[day] for day in run]
    return names if len(run) < 3 else [f"{names[0]} to {names[-1]}"]  # noqa: PLR2004 - two read shorter as they are


def _few(recurrence: Recurrence) -> bool:
    """Whether there are so few times a day that they can be listed."""
    return len(recurrence.hours) * len(recurrence.minutes) <= _FEW


def _times(recurrence: Recurrence) -> str:
    if _few(recurrence):
        return _list(
            f"{hour:02}:{minute:02}" for hour in sorted(recurrence.hours) for minute in sorted(recurrence.minutes)
        )
    minutes = "every minute" if recurrence.minutes == EVERY_MINUTE else f"minute {_list(sorted(recurrence.minutes))}"
    hours = "every hour" if recurrence.hours == EVERY_HOUR else f"hour {_list(sorted(recurrence.hours))}"
    return f"{minutes} of {hours}"


def _list(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
