"""The clock changes of a time zone.

Hours of the wall clock that are skipped, and those that come twice; and the moment of a recurrence
from which a search around them begins.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from krm_windows.gate import bits, coverage
from krm_windows.gate.recurrence import Recurrence, calendar

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


class ClockChange(NamedTuple):
    """A change of the offset from UTC, at the instant `at`."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def skips(self) -> bool:
        """Whether clocks go forward: what lies between is missing. Else it comes twice."""
        return self.after > self.before

    @property
    def begins(self) -> datetime:
        """The first minute on the wall clock that is missing, or comes twice."""
        return self._wall(min(self.before, self.after))

    @property
    def ends(self) -> datetime:
        """The first minute on the wall clock after those."""
        return self._wall(max(self.before, self.after))

    def _wall(self, offset: timedelta) -> datetime:
        return self.at.replace(tzinfo=None) + offset


def clock_changes(
    zone: tzinfo,
    begins: datetime,
    ends: datetime,
) -> Iterator[ClockChange]:
    """Yield the changes between two UTC instants, in order; two in one day count as one."""
    day = begins
    while day < ends:
        # A step of a day is quick, and no zone of today changes twice in one.
        if _offset(day, zone) != _offset(day + _DAY, zone):
            at = _first_minute(day, zone)
            yield ClockChange(at, _offset(at - _MINUTE, zone), _offset(at, zone))
        day += _DAY


def _first_minute(day: datetime, zone: tzinfo) -> datetime:
    """Return the first instant after `day` that has another offset."""
    minutes = range(1, _DAY // _MINUTE + 1)
    before = _offset(day, zone)

    def differs(count: int) -> bool:
        return _offset(day + count * _MINUTE, zone) != before

    # The offset changes once in a day, so the minutes are sorted by whether they differ.
    found = bisect_left(minutes, True, key=differs)  # noqa: FBT003
    return day + minutes[found] * _MINUTE


def _offset(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def at_or_before(recurrence: Recurrence, wall: datetime) -> datetime | None:
    """Find the last moment of a recurrence that is not after the naive `wall`.

    Some nine years back; None if there is none.
    """
    if not recurrence.times:
        return None
    today = wall.toordinal()
    times = recurrence.times & bits.below(wall.hour * 60 + wall.minute + 1)
    if times and recurrence.on(today):
        return bits.moment(today, bits.last(times))
    years = calendar(max(wall.year - coverage.YEARS_BEFORE, date.min.year), wall.year)
    earlier = recurrence.days_of(years) & bits.below(today - years.first)
    if not earlier:
        return None
    return bits.moment(years.first + bits.last(earlier), bits.last(recurrence.times))
