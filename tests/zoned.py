"""Timetables made by hand."""

from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Timetable


def timetable(policy: str = "a/b", time_zone: str = "UTC", **fields: object) -> Timetable:
    """Make a timetable in a zone of the tzdata package."""
    return Timetable(policy=policy, time_zone=time_zone, **fields)


def at(hour: int, *weekdays: int) -> Recurrence:
    """Give a full hour on some days of the week, or on each."""
    return Recurrence(
        minutes=frozenset({0}), hours=frozenset({hour}), weekdays=frozenset(weekdays or range(7))
    )


def moved(held: Timetable, time_zone: str) -> Timetable:
    """Give the same timetable in another time zone."""
    return held._replace(time_zone=time_zone)
