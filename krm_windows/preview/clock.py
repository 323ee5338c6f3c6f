"""Instants as a policy's clocks show them, and the moments at which those clocks change."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache

from krm_windows.checks.clock_changes import ClockChange, clock_changes
from krm_windows.gate.zones import Zone

_MINUTE = timedelta(minutes=1)


def stamp(at: datetime, zone: tzinfo) -> str:
    """Write an instant as RFC 3339 does, with the zone's offset; in UTC where that is no whole number of minutes."""
    local = at.astimezone(zone)
    return (at.astimezone(UTC) if (local.utcoffset() or _MINUTE) % _MINUTE else local).isoformat()


def shown(at: datetime, zone: tzinfo) -> str:
    """Write an instant for a reader: `Mon 2026-12-14 08:00`, in a repeated hour with the offset that tells which."""
    local = at.astimezone(zone)
    repeated = local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
    return f"{local:%a %Y-%m-%d %H:%M}{f' {local.isoformat()[-6:]}' if repeated else ''}"


@cache
def changes(zone: tzinfo, begins: datetime, ends: datetime) -> tuple[ClockChange, ...]:
    """Return every clock change in the half-open UTC interval [`begins`, `ends`)."""
    return tuple(
        change
        for change in clock_changes(zone, begins - _MINUTE, ends)
        if begins <= change.at < ends
    )


def words(change: ClockChange, zone: Zone) -> str:
    """Say what clocks do: `Sun 2026-03-29 02:00: clocks go forward to 03:00 (Europe/Berlin)`."""
    before, after = (change.begins, change.ends) if change.skips else (change.ends, change.begins)
    target = f"{after:%H:%M}" if after.date() == before.date() else f"{after:%a %Y-%m-%d %H:%M}"
    return f"{before:%a %Y-%m-%d %H:%M}: clocks go {'forward' if change.skips else 'back'} to {target} ({zone.key})"
