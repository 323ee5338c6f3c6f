"""Where a beginning and an end do not make an occurrence."""

from collections.abc import Iterator
from datetime import date, datetime, time

from krm_windows import rules
from krm_windows.policy.findings import Finding
from krm_windows.policy.moments import Moment, Value
from krm_windows.schedule import zones
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.wallclock import utc

CYCLE = range(date(2001, 1, 1).toordinal(), date(2029, 1, 1).toordinal())
"""Days of years that hold every pairing of date, weekday and leap year, and then come again.

Twenty-eight years, without the turn of a century.
"""


def check(
    begins: Moment[Value],
    ends: Moment[Value],
    path: str,
    time_zone: str | None,
) -> Iterator[Finding]:
    """Yield what is wrong with an end at `path`.

    Without a known zone, instants are not compared with a wall clock.
    """
    begin = begins.value
    end = ends.value
    # What recurs ends with what recurs, at a time of day, or after a duration.
    if isinstance(begin, Recurrence):
        yield from _recurring(begins, begin, ends, path)
    elif isinstance(begin, datetime) and isinstance(end, datetime):
        # Two dates, or a date and an instant.
        if not _ordered(begin, end, time_zone):
            must = f'must be after the beginning, "{begins.text}"'
            yield Finding(rules.END_ORDER, must, ends.text, path=path)
    # An instant is on no wall clock, so that a time of day after it is not known.
    elif isinstance(begin, datetime) and isinstance(end, time) and begin.tzinfo:
        must = "must be a duration or an instant, because the beginning is an instant"
        yield Finding(rules.END_INSTANT, must, ends.text, path=path)


def _recurring(
    begins: Moment[Value],
    begin: Recurrence,
    ends: Moment[Value],
    path: str,
) -> Iterator[Finding]:
    end = ends.value
    if isinstance(end, datetime):
        must = f'must recur like its beginning, "{begins.text}", or be a time of day'
        yield Finding(rules.END_ONE_OFF, must, ends.text, path=path)
    day = meeting(begin, end) if isinstance(end, Recurrence) else None
    # At such a minute both Jobs would start, and chance decide which is last.
    if day:
        must = f'must never be the same minute as the beginning "{begins.text}", as on {day}'
        yield Finding(rules.ENDS_MEET, must, ends.text, path=path)


def meeting(one: Recurrence, other: Recurrence) -> date | None:
    """Return the first day from 2001 on that has a minute of both recurrences, or None."""
    # Never at the same time of day.
    if not (one.minutes & other.minutes and one.hours & other.hours):
        return None
    return next((date.fromordinal(day) for day in one.named(CYCLE) if other.on(day)), None)


def _ordered(
    begin: datetime,
    end: datetime,
    time_zone: str | None,
) -> bool:
    """Whether an end comes after its beginning.

    An instant and a wall clock are compared in the zone's rules.
    """
    # Two instants, or two times of one wall clock.
    if bool(begin.tzinfo) == bool(end.tzinfo):
        return begin < end
    # Where the zone is wrong, that is a finding of its own.
    zone = zones.zone(time_zone) if time_zone else None
    return zone is None or utc(begin, zone) < utc(end, zone)
