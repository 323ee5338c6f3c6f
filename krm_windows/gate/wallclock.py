"""The wall clock that never runs backwards: in a repeated hour it stands still until it reaches new ground."""

from bisect import bisect_left
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

_MINUTE = timedelta(minutes=1)


def wall(instant: datetime, tz: tzinfo) -> datetime:
    """Read the latest naive wall-clock minute that clocks in `tz` have shown up to the aware `instant`."""
    local = instant.astimezone(UTC).astimezone(tz)
    shown_before = local.replace(fold=0).astimezone(UTC)
    if local.fold and shown_before.astimezone(tz) == local:  # zoneinfo marks an hour in Nuuk that was never repeated
        turned_back = _first_minute(shown_before, instant, lambda minute: bool(minute.astimezone(tz).fold))
        local = (turned_back - _MINUTE).astimezone(tz)
    return local.replace(tzinfo=None, fold=0, second=0, microsecond=0)


def instant(wall_clock: datetime, tz: tzinfo) -> datetime:
    """Find the first UTC instant at which the monotone wall clock of `tz` shows the naive `wall_clock` or later."""
    local = wall_clock.replace(tzinfo=tz, fold=0)
    utc = local.astimezone(UTC)
    if utc.astimezone(tz).replace(tzinfo=None) == wall_clock:
        return utc
    before = local.replace(fold=1).astimezone(UTC)
    return _first_minute(before, utc, lambda minute: minute.astimezone(tz).replace(tzinfo=None) >= wall_clock)


def utc(moment: datetime, tz: tzinfo) -> datetime:
    """Turn a naive moment on the wall clock of `tz` into an instant; leave an aware one."""
    return moment if moment.tzinfo else instant(moment, tz)


def _first_minute(low: datetime, high: datetime, holds: Callable[[datetime], bool]) -> datetime:
    """Find the whole minute from `low` to `high` from which on `holds`."""
    start = low.replace(second=0, microsecond=0)
    minutes = range((high - start) // _MINUTE)
    return start + bisect_left(minutes, True, key=lambda minute: holds(start + minute * _MINUTE)) * _MINUTE  # noqa: FBT003
