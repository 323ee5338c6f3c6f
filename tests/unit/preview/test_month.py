"""A month for a wall: the hours of each day, in weeks from Monday on."""

from datetime import date, datetime

import pytest
import zoned

from krm_windows.preview import month
from krm_windows.preview.calendar import Period, calendars
from krm_windows.schedule.timetable import Kind, Rule, Timetable

WEEK = Rule(Kind.WINDOW, "week", zoned.at(8, 1), zoned.at(17, 4))
NIGHT = Rule(Kind.WINDOW, "night", zoned.at(22), zoned.at(4))
EARLY = Rule(Kind.WINDOW, "early", zoned.at(1, 0), zoned.at(5, 0))
FREEZE = Rule(Kind.FREEZE, "books", datetime(2027, 3, 2, 12), datetime(2027, 3, 4), "Stocktaking")
ALL_DAY = ("00", "24")
DAYS = [
    # A window, a zone, and the hours of days of March 2027, a Monday the first of which is one.
    (WEEK, "UTC", {1: [("08", "24")], 2: [ALL_DAY], 3: [ALL_DAY], 4: [("00", "17")], 5: [], 6: []}),
    (NIGHT, "UTC", {1: [("00", "04"), ("22", "24")], 31: [("00", "04"), ("22", "24")]}),
    # Where clocks go forward at two, and where they do so at another day.
    (EARLY, "Europe/Berlin", {27: [], 28: [("01", "05")]}),
    (EARLY, "America/New_York", {14: [("01", "05")]}),
]


def days(timetable: Timetable, first: date, length: int) -> dict[int, month.Day]:
    weeks = month.weeks(calendars([timetable], Period(first, length))[0])
    assert {len(week) for week in weeks} == {7}
    return {day.number: day for week in weeks for day in week if day}


@pytest.mark.parametrize(("window", "zone", "hours"), DAYS)
def test_a_day_has_its_hours(window: Rule, zone: str, hours: dict[int, list[str]]) -> None:
    found = days(zoned.timetable(time_zone=zone, windows=(window,)), date(2027, 3, 1), 31)
    assert len(found) == 31
    assert {number: list(found[number].hours) for number in hours} == hours


def test_a_day_names_what_touches_it() -> None:
    made = zoned.timetable(windows=(WEEK,), freezes=(FREEZE,))
    found = days(made, date(2027, 3, 1), 31)
    frozen = [number for number, day in found.items() if day.exceptions]
    assert (frozen, found[2].hours, found[3].hours) == ([2, 3], (("00", "12"),), ())
    assert [each.rule.reason for each in found[2].exceptions] == ["Stocktaking"]
    # By day it is open anyway; the night before, it is not.
    for begins, named in ((1, 1), (2, 0)):
        patch = Rule(
            Kind.OVERRIDE, "a", datetime(2027, 3, begins), datetime(2027, 3, 3), "", "Open"
        )
        made = zoned.timetable(windows=(WEEK,), overrides=(patch,))
        found = days(made, date(2027, 3, 1), 31)
        assert [len(found[day].exceptions) for day in (1, 2, 3)] == [named, 0, 0]


@pytest.mark.parametrize(
    ("first", "length", "weeks", "begins"),
    [("2027-02-01", 28, 4, 0), ("2028-02-01", 29, 5, 1), ("2026-08-01", 31, 6, 5)],
)
def test_weeks_begin_on_monday(first: str, length: int, weeks: int, begins: int) -> None:
    period = Period(date.fromisoformat(first), length)
    found = month.weeks(calendars([zoned.timetable()], period)[0])
    assert (len(found), found[0].count(None)) == (weeks, begins)
    numbers = [day.number for week in found for day in week if day]
    assert numbers == list(range(1, length + 1))
