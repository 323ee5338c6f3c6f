"""The events of a company's calendar (RFC 5545), read with the packages of the extra `ics`."""

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from math import prod

import icalendar
import recurring_ical_events  # type: ignore[import-untyped]
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from krm_windows.edit import entries
from krm_windows.edit.entries import DatedEntry
from krm_windows.schedule import zones

# Bytes: far more than a company's closures take, and still read at once.
LARGEST = 1_000_000
# Without HOURLY, MINUTELY and SECONDLY (RFC 5545, 3.3.10), of which one rule makes millions.
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
# A freeze at every hour of a day is none that people mean.
_MOST_TIMES_A_DAY = 24
_DAY = timedelta(days=1)
# Of a list of slots, freezes are the opposite.
_COMMENTS = {
    "freezes": "# Each event became a freeze, during which nothing changes; if changes may "
    "happen only during the events, use `--windows`.\n",
    "windows": "# Each event became a window, outside of which nothing changes.\n",
}


def render(content: bytes, years: Sequence[int], *, windows: bool = False) -> str:
    """Write a calendar's events as `freezes`, or as `windows`, with a comment that says which.

    Raises ValueError for what is no calendar, a time zone that is unknown, or more than a policy
    can be read with.
    """
    calendar = _parsed(content)
    # An AWS Change Calendar that is closed but for its events.
    if not windows and "DEFAULT_CLOSED" in str(calendar.get("X-CALENDAR-TYPE")).upper():
        raise ValueError("changes may happen only during its events: use --windows")
    field = "windows" if windows else "freezes"
    found = entries.render(_events(calendar, years, windows=windows), field)
    return found and _COMMENTS[field] + found


def _parsed(content: bytes) -> icalendar.Calendar:
    if len(content) > LARGEST:
        raise ValueError(f"it has {len(content)} bytes; at most {LARGEST} are allowed")
    # It would know the time zones of every file that was read before.
    icalendar.use_zoneinfo()  # type: ignore[no-untyped-call]
    with _as_value_errors():
        calendars = icalendar.Calendar.from_ical(content, multiple=True)
    if len(calendars) != 1:
        raise ValueError(f"it contains {len(calendars)} calendars: put each in its own file")
    (calendar,) = calendars
    _check(calendar)
    return calendar


def _check(calendar: icalendar.Calendar) -> None:
    """Raise ValueError for what is too much to expand, and for a time whose zone is unknown."""
    own = {str(each.get("TZID")).strip("/") for each in calendar.walk("VTIMEZONE")}
    known = own.union(zones.names(), WINDOWS_TO_OLSON)
    # recurring-ical-events knows only IANA's here.
    default = _text(calendar, "X-WR-TIMEZONE")
    if default and default not in zones.names():
        raise ValueError(f'the time zone "{default[:80]}" is not an IANA name')
    for component in calendar.walk():
        name = component.get("SUMMARY", component.get("UID", ""))
        title = f"{component.name} {str(name)[:80]!r}"
        # icalendar leaves out what it cannot read.
        for field, why in component.errors:
            raise ValueError(f"{title} cannot be read: {field}: {why}")
        for field, value in component.property_items(recursive=False):
            if isinstance(value, icalendar.vRecur):
                _check_frequency(title, value)
            elif field != "TZID":
                _check_zone(title, value, known)


def _check_frequency(title: str, rule: icalendar.vRecur) -> None:
    frequency = str(next(iter(rule.get("FREQ", [])), ""))
    if frequency not in _FREQUENCIES:
        raise ValueError(
            f"{title} repeats {frequency}, which is not supported in a freeze; supported: "
            f"{', '.join(_FREQUENCIES)}"
        )
    # `BYHOUR=1,2;BYMINUTE=0,30` is four times a day.
    times = prod(len(rule.get(part, [""])) for part in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if times > _MOST_TIMES_A_DAY:
        raise ValueError(f"{title} repeats {times} times a day, more than {_MOST_TIMES_A_DAY}")


def _check_zone(title: str, value: object, known: Container[str]) -> None:
    """Refuse a time from which icalendar has taken an unknown zone: it would be on another clock.

    Also one whose zone is a file of this machine, such as `localtime`.
    """
    zone = getattr(value, "params", {}).get("TZID")
    if zone is None:
        return
    times = [each.dt for each in getattr(value, "dts", [value]) if hasattr(each, "dt")]
    # The first of a period says the zone of it.
    firsts = [each[0] if isinstance(each, tuple) else each for each in times]
    is_naive = any(isinstance(each, datetime) and each.tzinfo is None for each in firsts)
    # `/Europe/Berlin` is Europe/Berlin (RFC 5545, 3.2.19).
    if is_naive or str(zone).strip("/") not in known:
        raise ValueError(
            f'{title} has the time zone "{str(zone)[:80]}", which is neither an IANA name nor a '
            "Windows one nor a VTIMEZONE of the file; write the IANA name that is meant, such as "
            "Europe/Berlin"
        )


def _events(
    calendar: icalendar.Calendar,
    years: Sequence[int],
    *,
    windows: bool,
) -> Iterator[DatedEntry]:
    first = date(min(years), 1, 1)
    last = date(max(years), 12, 31)
    # A day more on either side: which day an event is on depends on the time zone that it is read
    # in. What is between two days ends before the second.
    begins = first - _DAY
    ends_before = last + 2 * _DAY
    with _as_value_errors():
        query = recurring_ical_events.of(calendar)
        events = query.between(begins, ends_before)
    for event in events:
        with _as_value_errors():
            starts = event.start
            ends = event.end
        # An event without a length closes nothing.
        if ends <= starts:
            continue
        # One that was called off stays in the file.
        if str(event.get("STATUS", "")) == "CANCELLED":
            continue
        if _day(starts) > last or _last_day(ends) < first:
            continue
        reason = _text(event, "SUMMARY") or "Company calendar"
        entry = _entry(starts, ends, reason, windows=windows)
        if entry is not None:
            yield entry


def _text(component: icalendar.Component, name: str) -> str:
    found = component.get(name, "")
    return str(found).strip()


def _day(at: date) -> date:
    # A datetime is a date, too, for Python.
    if isinstance(at, datetime):
        return at.date()
    return at


def _last_day(ends: date) -> date:
    """Return the last day that something touches which ends before `ends`, as iCalendar has it."""
    if isinstance(ends, datetime):
        return (ends - timedelta(microseconds=1)).date()
    return ends - _DAY


@contextmanager
def _as_value_errors() -> Iterator[None]:
    """Turn whatever the packages raise into ValueError.

    Around their calls alone, not around code of ours. They raise KeyError where a field is
    missing, TypeError where it is there twice, AttributeError where it is another.
    """
    try:
        yield
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _entry(
    starts: date,
    ends: date,
    reason: str,
    *,
    windows: bool,
) -> DatedEntry | None:
    """Return whole days with the last one included, which in iCalendar it is not, or minutes.

    A freeze may be longer than the event, and a window shorter, never the other way. It is None
    where no whole minute is left of a window.
    """
    if not isinstance(starts, datetime) or not isinstance(ends, datetime):
        return DatedEntry(starts, ends - _DAY, reason)
    if not windows:
        return DatedEntry(_down(starts), _up(ends), reason)
    opens, closes = _up(starts), _down(ends)
    if closes <= opens:
        return None
    return DatedEntry(opens, closes, reason)


def _down(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def _up(at: datetime) -> datetime:
    return (at + timedelta(seconds=-at.second % 60)).replace(microsecond=0)
