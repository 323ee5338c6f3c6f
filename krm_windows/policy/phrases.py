"""Moments in plain English, for annotations and explanations: `Mon 08:00 to Thu 17:00`.

A moment is said as it was written. What a recurrence is by its fields says `days`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta

from krm_windows.plurals import counted
from krm_windows.policy import schedules
from krm_windows.policy.moments import ORDINALS, WEEKDAYS, Moment, Value
from krm_windows.schedule import cron
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence

_UNITS = (
    ("day", timedelta(days=1)),
    ("hour", timedelta(hours=1)),
    ("minute", timedelta(minutes=1)),
)
_NTH = {number: name for name, number in ORDINALS.items()}
_OF_NTH = {EVERY_WEEKDAY: "day", frozenset(range(1, 6)): "workday"}
_RULES = {"windows": "the window", "freezes": "the freeze", "overrides": "the override"}
# What decides beside the rules that a policy names.
_OTHERS = {
    "state": "the hold",
    "outsideWindows": "being open outside of windows",
    "closesEarly": "closing early",
}


def rules(paths: Iterable[str], reasons: Mapping[str, str]) -> str:
    """Name rules by their paths in the spec: `the freeze christmas (Company holidays)`."""
    return " and ".join(_rule(path, reasons.get(path, "")) for path in paths)


def _rule(path: str, reason: str) -> str:
    kind, _, key = path.partition(".")
    noun = _OTHERS.get(kind) or _RULES[kind]
    # The name of an override is most often its time: its reason says which one it is.
    if key and kind != "overrides":
        noun = f"{noun} {key}"
    # What is still to be filled in stands for nothing.
    return f"{noun} ({reason})" if reason.strip("-\N{HORIZONTAL ELLIPSIS}") else noun


def occurrence(begins: Moment[Value] | None, ends: Moment[Value] | timedelta) -> str:
    """Say when something that begins and ends takes place."""
    end = duration(ends) if isinstance(ends, timedelta) else _written(ends)
    if begins is None:
        return f"until {end}"
    if isinstance(ends, timedelta):
        return f"{_written(begins)} for {end}"
    # A date, which ends with its day: two moments that are equal are refused.
    if begins.text == ends.text:
        return end
    link = "until" if isinstance(ends.value, time) else "to"
    # What ends every day ends at the next such time.
    return f"{_written(begins)} {link} {end.removeprefix('daily ')}"


def _written(at: Moment[Value]) -> str:
    # `2026-12-22T09:00` and `Tue,Thu 06:00` as people write them.
    if isinstance(at.value, datetime):
        return at.text.replace("T", " ")
    return at.text if schedules.looks_like_one(at.text) else at.text.replace(",", ", ")


def duration(length: timedelta) -> str:
    """Say a length of time: `1 hour 30 minutes`."""
    parts = []
    for unit, size in _UNITS:
        count, length = divmod(length, size)
        if count:
            parts.append(counted(count, unit))
    return " ".join(parts) or "0 minutes"


def days(recurrence: Recurrence) -> str:
    """Say on which days something recurs: `Monday or day 1-7 of the month, in Jan, Feb`."""
    weekdays = ", ".join(WEEKDAYS[day] for day in sorted(recurrence.weekdays))
    if recurrence.nth is not None:
        named = _OF_NTH.get(recurrence.weekdays, weekdays)
        shift = f"{counted(recurrence.shift, 'day')} after the " if recurrence.shift else ""
        return f"{shift}{_NTH[recurrence.nth]} {named} of the month"
    # crontab(5): where both day fields are restricted, one that matches is enough.
    found = [weekdays] if recurrence.either or recurrence.weekdays != EVERY_WEEKDAY else []
    if recurrence.either or recurrence.days != EVERY_DAY:
        found.append(f"day {cron.field(recurrence.days, EVERY_DAY)} of the month")
    said = (" or " if recurrence.either else " if it is ").join(found) or "every day"
    if recurrence.months != EVERY_MONTH:
        months = ", ".join(cron.MONTHS[month - 1] for month in sorted(recurrence.months))
        said += f", in {months.title()}"
    return said
