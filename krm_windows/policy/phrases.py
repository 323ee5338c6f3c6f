"""Moments in plain English, for annotations and explanations: `Monday 08:00 to Thursday 17:00`."""

from collections.abc import Collection
from datetime import time, timedelta
from itertools import product

from krm_windows.plurals import counted, plural
from krm_windows.policy.days import EVERY_DAY, days, listed, numbers
from krm_windows.policy.moments import Moment, Value
from krm_windows.schedule.recurrence import EVERY_HOUR, EVERY_MINUTE, Recurrence

_UNITS = (
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
)
# So many times a day are listed, more are said by their fields.
_FEW = 6
# How an end is joined to its beginning: what recurs, or is dated, with `to`.
_LINKS: dict[type, str] = {time: "until", timedelta: "for"}


def occurrence(begins: Moment[Value] | None, ends: Moment[Value] | timedelta) -> str:
    """Say when something that begins and ends takes place."""
    if begins is None:
        return f"until {_end(ends)}"
    end: object = ends
    if isinstance(ends, Moment):
        # A date, which ends with its day: two moments that are equal are refused.
        if begins.text == ends.text:
            return moment(begins)
        end = ends.value
    # `Monday 08:00 for 2 hours`, `Monday 08:00 until 17:00`.
    link = _LINKS.get(type(end), "to")
    return f"{moment(begins)} {link} {_end(ends)}"


def moment(at: Moment[Value]) -> str:
    """Say a moment: what recurs by its days and times, what does not as it was written."""
    if not isinstance(at.value, Recurrence):
        # `2026-12-22T09:00` as people write it.
        return at.text.replace("T", " ")
    times = _times(at.value)
    # `Monday 08:00 and 12:00`; more times than that are said by their fields.
    if len(times) <= _FEW:
        return f"{days(at.value)} {listed(times)}"
    return _frequent(at.value)


def duration(length: timedelta) -> str:
    """Say a length of time: `1 hour 30 minutes`."""
    parts = []
    for unit, size in _UNITS:
        count, length = divmod(length, size)
        if count:
            parts.append(counted(count, unit))
    return " ".join(parts) or "0 minutes"


def _end(ends: Moment[Value] | timedelta) -> str:
    if isinstance(ends, Moment):
        return moment(ends)
    return duration(ends)


def _times(recurrence: Recurrence) -> list[str]:
    hours, minutes = sorted(recurrence.hours), sorted(recurrence.minutes)
    return [f"{hour:02}:{minute:02}" for hour, minute in product(hours, minutes)]


def _frequent(recurrence: Recurrence) -> str:
    """Say what recurs too often for a list of times.

    `minutes 0 and 30 of hours 8 to 17 on Monday to Friday`.
    """
    minutes = _field(recurrence.minutes, EVERY_MINUTE, "minute")
    hours = _field(recurrence.hours, EVERY_HOUR, "hour")
    times = f"{minutes} of {hours}"
    named = days(recurrence)
    return times if named == EVERY_DAY else f"{times} on {named}"


def _field(
    chosen: Collection[int],
    every: Collection[int],
    noun: str,
) -> str:
    if chosen == every:
        return f"every {noun}"
    return f"{noun if len(chosen) == 1 else plural(noun)} {numbers(chosen)}"
