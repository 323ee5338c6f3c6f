"""The wall clock that never runs backwards.

In a repeated hour it stands still until it reaches new ground
(docs/decisions/0003-the-wall-clock-never-runs-backwards.md).
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import MINYEAR, UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from krm_windows.gate import bits
from krm_windows.gate.bits import DAY, FIRST_DAY, LAST_DAY
from krm_windows.gate.zones import Zone

_MINUTE = timedelta(minutes=1)
# Days that every clock has a name for, on either side of UTC.
_FIRST_DAY = FIRST_DAY + 2
_LAST_DAY = LAST_DAY - 2


def wall(instant: datetime, tz: tzinfo) -> datetime:
    """Read the latest naive minute that clocks in `tz` have shown up to the aware `instant`."""
    local = instant.astimezone(UTC).astimezone(tz)
    if local.fold:
        # It is 02:30 for the second time, one hour after the first.
        first_time = local.replace(fold=0).astimezone(UTC)
        # Not so where zoneinfo sets `fold` for an hour in Nuuk that was never repeated, or where a
        # summer ends as it begins.
        if first_time < instant and first_time.astimezone(tz) == local:
            local = _latest_before_repeating(first_time, instant, tz)
    return local.replace(tzinfo=None, fold=0, second=0, microsecond=0)


def _latest_before_repeating(first_time: datetime, second_time: datetime, tz: tzinfo) -> datetime:
    """Find the last minute before clocks were turned back, between two readings of one time."""

    def is_second(minute: datetime) -> bool:
        return minute.astimezone(tz).fold == 1

    turned_back = _first_minute(first_time, second_time, is_second)
    return (turned_back - _MINUTE).astimezone(tz)


def instant(wall_clock: datetime, tz: tzinfo) -> datetime:
    """Find the first UTC instant at which the wall clock of `tz` shows `wall_clock` or later.

    `wall_clock` is naive; the clock is the one that never runs backwards.
    """

    def shown(minute: datetime) -> datetime:
        return minute.astimezone(tz).replace(tzinfo=None)

    def is_reached(minute: datetime) -> bool:
        return shown(minute) >= wall_clock

    local = wall_clock.replace(tzinfo=tz, fold=0)
    found = local.astimezone(UTC)
    if shown(found) == wall_clock:
        return found
    # It is in an hour that was left out, around which the two folds are (PEP 495).
    before = local.replace(fold=1).astimezone(UTC)
    return _first_minute(before, found, is_reached)


def utc(moment: datetime, tz: tzinfo) -> datetime:
    """Turn a naive moment on the wall clock of `tz` into an instant; leave an aware one."""
    if moment.tzinfo:
        return moment
    return instant(moment, tz)


class Piece(NamedTuple):
    """Minutes of a UTC day, from `begins` on, during which the wall clock runs or stands still.

    It runs from `shown` on, or stands there. `shown` is a wall-clock minute, numbered from midnight
    of day 0 on.
    """

    begins: int
    minutes: int
    shown: int
    runs: bool

    def in_utc(self, on_wall_day: Callable[[int], int]) -> int:
        """Return which of these minutes are covered, as bits of the UTC day.

        `on_wall_day` gives what is covered of a wall-clock day.
        """
        day, at = divmod(self.shown, DAY)
        covered = on_wall_day(day) >> at
        every = bits.below(self.minutes)
        if not self.runs:
            # What holds at the minute that is shown holds for as long as it is shown.
            if covered & 1:
                return every << self.begins
            return 0
        left_today = DAY - at
        if self.minutes > left_today:
            covered |= on_wall_day(day + 1) << left_today
        return (covered & every) << self.begins


@lru_cache(maxsize=8192)
def pieces(day: int, tz: Zone) -> tuple[Piece, ...]:
    """Cut a UTC day (an ordinal) where the clock of `tz` is changed; most days are one piece."""
    midnight = day * DAY
    around = steady(day, tz)
    if around:
        return (Piece(0, DAY, midnight + around.ahead // _MINUTE, runs=True),)
    # From one change to the next it stands still at first, if at all, and runs for the rest.
    start = bits.moment(min(max(day, FIRST_DAY), LAST_DAY), 0)
    cuts = {0, DAY}
    for each in tz.transitions(start.year, start.year):
        minute = -((start - each.at) // _MINUTE)  # rounded up: the first whole one that shows it
        cuts.add(min(max(minute, 0), DAY))
    parts = [_cut(midnight, *part, tz) for part in pairwise(sorted(cuts))]
    return tuple(chain.from_iterable(parts))


class Steady(NamedTuple):
    """UTC days throughout which the wall clock runs, so much `ahead` of UTC."""

    days: range
    ahead: timedelta


def steady(day: int, tz: Zone) -> Steady | None:
    """Find the days around a UTC day, in its year, on which the clock of `tz` is not changed."""
    known = min(max(day, FIRST_DAY), LAST_DAY)
    for around in _of_year(date.fromordinal(known).year, tz):
        if day in around.days:
            return around
    return None


@lru_cache(maxsize=64)
def _of_year(year: int, tz: Zone) -> tuple[Steady, ...]:
    found = []
    begins = date(year, 1, 1).toordinal()
    last = date(year, 12, 31).toordinal()
    # The clock may stand still after a change, for less than two days: offsets are less than one.
    changes = [each.at.toordinal() for each in tz.transitions(max(year - 1, MINYEAR), year)]
    for changed in (*changes, last + 1):
        days = range(begins, changed)
        if days:
            at = bits.moment(min(max(begins, _FIRST_DAY), _LAST_DAY), 0).replace(tzinfo=UTC)
            found.append(Steady(days, at.astimezone(tz).utcoffset() or timedelta()))
        begins = max(begins, changed + 3)
    return tuple(found)


def _cut(
    midnight: int,
    begins: int,
    ends: int,
    tz: tzinfo,
) -> Iterator[Piece]:
    """Halve a part of a day until the clock runs or stands still throughout each half.

    So it is found in some readings from when on it runs, wherever in the part that is.
    """
    minutes = ends - begins
    shown = _shown(midnight + begins, tz)
    passed = _shown(midnight + ends - 1, tz) - shown
    if passed == minutes - 1:
        yield Piece(begins, minutes, shown, runs=True)
    elif passed == 0:
        yield Piece(begins, minutes, shown, runs=False)
    else:
        middle = (begins + ends) // 2
        yield from _cut(midnight, begins, middle, tz)
        yield from _cut(midnight, middle, ends, tz)


@lru_cache(maxsize=1024)
def _shown(minute: int, tz: tzinfo) -> int:
    """Return the minute that the wall clock shows at a UTC minute.

    Both are numbered from the midnight of day 0 on.
    """
    day, of_day = divmod(minute, DAY)
    # Beyond the calendar's ends, what clocks show at its first or last days.
    known = min(max(day, _FIRST_DAY), _LAST_DAY)
    at = bits.moment(known, of_day).replace(tzinfo=UTC)
    local = wall(at, tz)
    shown_day = local.toordinal() + day - known
    return shown_day * DAY + local.hour * 60 + local.minute


def _first_minute(
    low: datetime,
    high: datetime,
    holds: Callable[[datetime], bool],
) -> datetime:
    """Find the whole minute from `low` to `high` from which on `holds`."""
    start = low.replace(second=0, microsecond=0)
    minutes = range((high - start) // _MINUTE)

    def holds_after(count: int) -> bool:
        return holds(start + count * _MINUTE)

    first = bisect_left(minutes, True, key=holds_after)  # noqa: FBT003 - what is searched for
    return start + first * _MINUTE
