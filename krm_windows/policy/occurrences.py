"""Where a beginning and an end do not make an occurrence."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from krm_windows import rules
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.wallclock import instant
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.trouble import Finding
from krm_windows.schedule import zones

# Twenty-eight years without a turn of a century hold every pairing of date, weekday and leap year.
_CYCLE = (date(2001, 1, 1), 28 * 365 + 7)


def check(
    begins: Moment[Value], ends: Moment[Value], path: str, time_zone: str | None
) -> Iterator[Finding]:
    """Yield what is wrong with an end at `path`; without a known zone, instants are not compared with a wall clock."""
    begin, end = begins.value, ends.value
    if isinstance(begin, Recurrence):
        yield from _recurring(begins, begin, ends, path)
    elif isinstance(begin, datetime) and isinstance(end, datetime):
        if not _ordered(begin, end, time_zone):
            yield Finding(
                rules.END_ORDER,
                f'must be after the beginning, "{begins.text}"',
                ends.text,
                path=path,
            )
    elif isinstance(begin, datetime) and isinstance(end, time) and begin.tzinfo:
        must = "must be a duration or an instant, as it ends what begins at an instant"
        yield Finding(rules.END_INSTANT, must, ends.text, path=path)


def _recurring(
    begins: Moment[Value], begin: Recurrence, ends: Moment[Value], path: str
) -> Iterator[Finding]:
    if isinstance(ends.value, datetime):
        must = f'must recur as its beginning "{begins.text}" does, or be a time of day'
        yield Finding(rules.END_ONE_OFF, must, ends.text, path=path)
    elif isinstance(ends.value, Recurrence) and (day := meeting(begin, ends.value)):
        must = f'must never fall on the minute of the beginning "{begins.text}", as on {day}'
        yield Finding(rules.ENDS_MEET, must, ends.text, path=path)


def meeting(one: Recurrence, other: Recurrence) -> date | None:
    """Return the first day from 2001 on that has a minute of both recurrences, or None if there is none ever."""
    if not (one.minutes & other.minutes and one.hours & other.hours):
        return None
    first, count = _CYCLE
    days = (first + timedelta(days=i) for i in range(count))
    return next((day for day in days if one.matches(day) and other.matches(day)), None)


def _ordered(begin: datetime, end: datetime, time_zone: str | None) -> bool:
    """Whether an end comes after its beginning; an instant and a wall clock are compared in the zone's rules."""
    if bool(begin.tzinfo) == bool(end.tzinfo):
        return begin < end
    if time_zone is None:
        return True
    begin, end = (at if at.tzinfo else instant(at, zones.zone(time_zone)) for at in (begin, end))
    return begin < end
