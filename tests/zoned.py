"""Timetables made by hand."""

from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Timetable


def timetable(policy: str = "a/b", time_zone: str = "UTC", **fields: object) -> Timetable:
    return Timetable(policy=policy, time_zone=time_zone, **fields)


def at(hour: int, *weekdays: int) -> Recurrence:
    return Recurrence(
        minutes=frozenset({0}), hours=frozenset({hour}), weekdays=frozenset(weekdays or range(7))
    )


def moved(held: Timetable, time_zone: str) -> Timetable:
    return held._replace(time_zone=time_zone)
