"""The clock changes of a time zone.

Hours of the wall clock that are skipped, and those that come twice; and the moment of a recurrence
from which a search around them begins.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

from krm_windows.schedule import bits, wallclock
from krm_windows.schedule.recurrence import Recurrence, calendar

_MINUTE = timedelta(minutes=1)
_SEARCHED_YEARS = 9  # 29 February can be eight years away


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


def clock_changes(zone: tzinfo, begins: datetime, ends: datetime) -> Iterator[ClockChange]:
    """Yield the changes between two UTC instants, in order."""
    for minute in wallclock.changes(zone, range(begins.toordinal(), ends.toordinal() + 2)):
        at = wallclock.at(minute)
        if begins < at <= ends:
            yield ClockChange(at, _offset(at - _MINUTE, zone), _offset(at, zone))


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
    years = calendar(max(wall.year - _SEARCHED_YEARS, date.min.year), wall.year)
    earlier = recurrence.days_of(years) & bits.below(today - years.first)
    if not earlier:
        return None
    return bits.moment(years.first + bits.last(earlier), bits.last(recurrence.times))
