"""A calendar: the open intervals of a timetable over a range of days."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from krm_windows.gate import wallclock
from krm_windows.gate.decide import Segment, timeline
from krm_windows.gate.timetable import Timetable


@dataclass(frozen=True, slots=True)
class Calendar:
    """What is open in the half-open UTC interval [`begins`, `ends`) of a policy's days."""

    policy: str
    cluster: str | None
    zone: ZoneInfo
    begins: datetime
    ends: datetime
    intervals: tuple[Segment, ...]


def days(timetable: Timetable, first: date, count: int) -> Calendar:
    """Return the calendar of `count` days of the wall clock, from midnight of `first` in the policy's zone."""
    zone = wallclock.zone(timetable.time_zone)
    begins, ends = (_midnight(day, zone) for day in (first, first + timedelta(days=count)))
    intervals = tuple(segment for segment in timeline(timetable, begins, ends) if segment.open)
    return Calendar(timetable.policy, timetable.cluster, zone, begins, ends, intervals)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of a day, which a clock change may move off 00:00."""
    return wallclock.instant(datetime(day.year, day.month, day.day), zone).astimezone(UTC)  # noqa: DTZ001 - wall clock
