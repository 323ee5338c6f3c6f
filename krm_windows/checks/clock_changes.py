"""The clock changes of a time zone.

Hours of the wall clock that are skipped, and those that come twice.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from krm_windows.schedule import wallclock

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


def clock_changes(zone: tzinfo, begins: datetime, ends: datetime) -> Iterator[ClockChange]:
    """Yield the changes between two UTC instants, in order."""
    for minute in wallclock.changes(zone, range(begins.toordinal(), ends.toordinal() + 2)):
        at = wallclock.at(minute)
        if begins < at <= ends:
            yield ClockChange(at, _offset(at - _MINUTE, zone), _offset(at, zone))


def _offset(at: datetime, zone: tzinfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()
