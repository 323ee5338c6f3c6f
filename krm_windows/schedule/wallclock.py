"""The wall clock that never runs backwards.

In a repeated hour it stands still until it reaches new ground
(docs/decisions/0003-the-wall-clock-never-runs-backwards.md).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import NamedTuple

from krm_windows.schedule import bits
from krm_windows.schedule.bits import DAY

_MINUTE = timedelta(minutes=1)
_FIRST = datetime.min.replace(tzinfo=UTC)  # day 1
_STEP = 4  # days: no clock was ever put back to what it showed within as many
_MARGIN = 3  # days: offsets are less than one, and so is what a clock is put back


def wall(instant: datetime, tz: tzinfo) -> datetime:
    """Read the latest naive minute that clocks in `tz` have shown up to the aware `instant`."""
    minute = minute_of(instant)
    return bits.moment(*divmod(_around(minute, tz).at(minute), DAY))


def instant(wall_clock: datetime, tz: tzinfo) -> datetime:
    """Find the first UTC instant at which the wall clock of `tz` shows `wall_clock` or later.

    `wall_clock` is naive; the clock is the one that never runs backwards.
    """
    minute = minute_of(wall_clock)
    return at(_around(minute, tz).utc(minute))


def _around(minute: int, tz: tzinfo) -> "WallClock":
    return WallClock(tz, range(minute // DAY, minute // DAY + 1))


def utc(moment: datetime, tz: tzinfo) -> datetime:
    """Turn a naive moment on the wall clock of `tz` into an instant; leave an aware one."""
    if moment.tzinfo:
        return moment
    return instant(moment, tz)


class Stretch(NamedTuple):
    """From the UTC minute `begins` on the clock runs from the minute `shown` on, or stands there.

    It lasts until the next stretch begins.
    """

    begins: int
    shown: int
    runs: bool


class Part(NamedTuple):
    """A part of a UTC day: from its minute `begins` on, the clock runs from `shown` on, or stands.

    `shown` is counted from the midnight of the UTC day on, and may be before it.
    """

    length: int
    begins: int
    shown: int
    runs: bool


class WallClock:
    """What the clock of a zone shows on some UTC days."""

    def __init__(self, tz: tzinfo, days: range) -> None:
        """Find its changes from the first of `days` to the last."""
        # No clock is asked beyond the calendar's ends; whatever it shows there, it runs on.
        first = max(days.start - _MARGIN, bits.FIRST_DAY + 1)
        self.stretches = _stretches(tz, range(first, min(days.stop + _MARGIN, bits.LAST_DAY)))
        self._begins = [stretch.begins for stretch in self.stretches]
        # Most days are in one stretch, and alike in it.
        self._whole = [
            (Part(DAY, 0, shown - begins, runs),) for begins, shown, runs in self.stretches
        ]
        # A clock that stands still shows nothing new.
        self._running = [stretch for stretch in self.stretches if stretch.runs]
        self._shown = [stretch.shown for stretch in self._running]

    def utc(self, shown: int) -> int:
        """Return the first UTC minute at which the clock shows a minute, or a later one."""
        number = max(bisect_right(self._shown, shown) - 1, 0)
        begins, first, _ = self._running[number]
        found = begins + shown - first
        if number + 1 < len(self._running):
            # What the clock skips comes when it has skipped it.
            return min(found, self._running[number + 1].begins)
        return found

    def at(self, utc: int) -> int:
        """Return the minute that the clock shows at a UTC minute."""
        begins, shown, runs = self.stretches[max(bisect_right(self._begins, utc) - 1, 0)]
        return shown + (utc - begins) * runs

    def parts(self, day: int) -> tuple[Part, ...]:
        """Cut a UTC day where the clock changes."""
        midnight = day * DAY
        before = max(bisect_right(self._begins, midnight), 1)
        after = bisect_left(self._begins, midnight + DAY)
        if before >= after and self.stretches[before - 1].runs:
            return self._whole[before - 1]
        edges = [midnight, *self._begins[before:after], midnight + DAY]
        return tuple(
            Part(ends - begins, begins - midnight, self.at(begins) - midnight, stretch.runs)
            for stretch, (begins, ends) in zip(
                self.stretches[before - 1 : after], pairwise(edges), strict=True
            )
        )


def _stretches(tz: tzinfo, days: range) -> list[Stretch]:
    begins = days.start * DAY
    found = [Stretch(begins, begins + _ahead(tz, begins), runs=True)]
    for change in changes(tz, days):
        # The first minute that it has not shown yet, and what it would show now. No zone changes
        # again while its clock stands.
        new = found[-1].shown + change - found[-1].begins
        shown = change + _ahead(tz, change)
        if shown < new:
            found.append(Stretch(change, new - 1, runs=False))
            found.append(Stretch(change + new - shown, new, runs=True))
        else:
            found.append(Stretch(change, shown, runs=True))
    return found


def changes(tz: tzinfo, days: range) -> Iterator[int]:
    """Yield the UTC minutes of some days from which on clocks are ahead by another span."""
    before, was = days.start * DAY, _ahead(tz, days.start * DAY)
    for day in (*days[_STEP::_STEP], days[-1]):
        after, now = day * DAY, _ahead(tz, day * DAY)
        while was != now:
            low, high = before, after
            while high - low > 1:
                middle = (low + high) // 2
                if _ahead(tz, middle) == was:
                    low = middle
                else:
                    high = middle
            yield high
            before, was = high, _ahead(tz, high)
        before = after


def _ahead(tz: tzinfo, minute: int) -> int:
    return (at(minute).astimezone(tz).utcoffset() or timedelta()) // _MINUTE


def at(minute: int) -> datetime:
    """Return the instant of a UTC minute."""
    return _FIRST + (minute - DAY) * _MINUTE


def minute_of(moment: datetime) -> int:
    """Return the UTC minute of an instant, or that which a naive moment shows."""
    moment = (moment - (moment.utcoffset() or timedelta())).replace(tzinfo=None)
    return moment.toordinal() * DAY + moment.hour * 60 + moment.minute
