"""Instants as a policy's clocks show them, and the moments at which those clocks change."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

_DAY, _SECOND, _MINUTE = timedelta(days=1), timedelta(seconds=1), timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ClockChange:
    """The UTC instant `at` from which clocks in a zone show `by` more (forward) or less (back) than before."""

    at: datetime
    by: timedelta


def stamp(at: datetime, zone: ZoneInfo) -> str:
    """Write an instant as RFC 3339 does, with the zone's offset; in UTC where that is no whole number of minutes."""
    local = at.astimezone(zone)
    return (at.astimezone(UTC) if (local.utcoffset() or _DAY) % _MINUTE else local).isoformat()


def shown(at: datetime, zone: ZoneInfo) -> str:
    """Write an instant for a reader: `Mon 2026-12-14 08:00`, in a repeated hour with the offset that tells which."""
    local = at.astimezone(zone)
    repeated = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
    return f"{local:%a %Y-%m-%d %H:%M}{f' {local.isoformat()[-6:]}' if repeated else ''}"


def words(change: ClockChange, zone: ZoneInfo) -> str:
    """Say what clocks do: `Sun 2026-03-29 02:00: clocks go forward to 03:00 (Europe/Berlin)`."""
    after = change.at.astimezone(zone).replace(tzinfo=None)
    before = after - change.by
    way = "forward" if change.by > timedelta() else "back"
    target = f"{after:%H:%M}" if after.date() == before.date() else f"{after:%a %Y-%m-%d %H:%M}"
    return f"{before:%a %Y-%m-%d %H:%M}: clocks go {way} to {target} ({zone.key})"


@cache
def changes(zone: ZoneInfo, begins: datetime, ends: datetime) -> tuple[ClockChange, ...]:
    """Find every clock change in the UTC interval [`begins`, `ends`)."""
    return tuple(_changes(zone, begins, ends))


def _changes(zone: ZoneInfo, begins: datetime, ends: datetime) -> Iterator[ClockChange]:
    day = begins - _SECOND
    while day < ends:
        following = min(day + _DAY, ends)
        by = _offset(following, zone) - _offset(day, zone)
        at = _first(zone, day, following) if by else ends
        if at < ends:
            yield ClockChange(at, by)
        day = following
        if day == ends:
            return


def _first(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """Find the second after `low` from which the offset is that of `high`."""
    while high - low > _SECOND:
        middle = low + (high - low) // 2 // _SECOND * _SECOND
        low, high = (low, middle) if _offset(middle, zone) == _offset(high, zone) else (middle, high)
    return high


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()
