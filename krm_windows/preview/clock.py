"""Instants as a policy's clocks show them, and the moments at which those clocks change."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from krm_windows.checks.clock_changes import ClockChange, clock_changes

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


def stamp(at: datetime, zone: tzinfo) -> str:
    """Write an instant as RFC 3339 does, with the zone's offset.

    In UTC where that is no whole number of minutes, as RFC 3339 has no seconds in an offset.
    """
    local = at.astimezone(zone)
    # Local mean time of long ago: Berlin was 53 minutes and 28 seconds ahead until 1893.
    offset = local.utcoffset() or timedelta()
    return (at.astimezone(UTC) if offset % _MINUTE else local).isoformat()


def stamp_or_none(at: datetime | None, zone: tzinfo) -> str | None:
    """Write an instant as `stamp` does; None, which is null in JSON, where there is none."""
    return None if at is None else stamp(at, zone)


def instant(seconds: int) -> datetime | None:
    """Return the UTC instant of seconds since 1970, None where there is no such date."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        # Git takes any number of 64 bits, and a date of Python ends with the year 9999.
        return None


def shown(at: datetime, zone: tzinfo) -> str:
    """Write an instant for a reader.

    `Mon 2026-12-14 08:00`, in a repeated hour with the offset that says which.
    """
    local = at.astimezone(zone)
    moment = f"{local:%a %Y-%m-%d %H:%M}"
    # The other reading of the same clock has another offset only where it is shown twice (PEP 495).
    other = local.replace(fold=1 - local.fold)
    if local.utcoffset() == other.utcoffset():
        return moment
    return f"{moment} {local.isoformat()[-6:]}"


def coming(at: datetime, zone: ZoneInfo, now: datetime) -> str:
    """Write an instant to come, and how far away it is.

    `Mon 2026-12-14 08:00 Europe/Berlin, in 6 d 3 h`.
    """
    return f"{shown(at, zone)} {zone.key}, in {span(at - now)}"


def span(length: timedelta) -> str:
    """Say a length of time in short: `3 d 9 h`."""
    minutes = length // timedelta(minutes=1)
    parts = {
        "d": minutes // 1440,
        "h": minutes // 60 % 24,
        "m": minutes % 60,
    }
    return " ".join(f"{number} {unit}" for unit, number in parts.items() if number) or "0 m"


def edges(begins: datetime, ends: datetime) -> tuple[str, str]:
    """Write in short when something begins and ends on a clock: 08 and 17; Mon 08 and Thu 17."""
    day = "%a " if ends - begins > _DAY else ""
    last = f"{ends:{day}%H:%M}"
    if ends.time() == time():
        # A day ends at 24:00, and not with the next one.
        last = (ends - _DAY).strftime(f"{day}24")
    return f"{begins:{day}%H:%M}".removesuffix(":00"), last.removesuffix(":00")


def days(first: date, last: date) -> str:
    """Write the first and the last of some days; a day alone is written once."""
    if first == last:
        return str(first)
    return f"{first} to {last}"


def last_day(ends: datetime, zone: tzinfo) -> date:
    """Return the last day of what ends at an instant, which is no part of it."""
    # The end is exclusive, so a moment before it is asked for its date.
    return (ends - timedelta.resolution).astimezone(zone).date()


def changes(
    zone: tzinfo,
    begins: datetime,
    ends: datetime,
) -> tuple[ClockChange, ...]:
    """Return every clock change in the half-open UTC interval [`begins`, `ends`)."""
    # A change at the very beginning is found only from the minute before it.
    found = clock_changes(zone, begins - _MINUTE, ends)
    return tuple(change for change in found if begins <= change.at < ends)


def words(change: ClockChange, zone: ZoneInfo) -> str:
    """Say what clocks do: `Sun 2026-03-29 02:00: clocks go forward to 03:00 (Europe/Berlin)`."""
    # `begins` and `ends` are of the hour that is skipped or repeated, on the clock.
    if change.skips:
        before, after, way = change.begins, change.ends, "forward"
    else:
        before, after, way = change.ends, change.begins, "back"
    target = f"{after:%H:%M}"
    # Some changes cross midnight: in Cairo clocks go from 24:00 back to 23:00.
    if after.date() != before.date():
        target = f"{after:%a %Y-%m-%d %H:%M}"
    return f"{before:%a %Y-%m-%d %H:%M}: clocks go {way} to {target} ({zone.key})"
