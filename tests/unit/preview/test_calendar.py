"""A calendar says exactly when a policy is open, over exactly the days asked for."""

from datetime import UTC, date, datetime, timedelta

import pytest
import zoned

from krm_windows.preview import records
from krm_windows.preview.calendar import Calendar, Period, alike, calendars
from krm_windows.schedule.timeline import Segment
from krm_windows.schedule.timetable import Kind, Rule, Timetable

WEEK = zoned.timetable(
    policy="flux-system/week",
    time_zone="Europe/Berlin",
    windows=(Rule(Kind.WINDOW, "office", zoned.at(8, 1), zoned.at(17, 4)),),
)


def of(timetable: Timetable, start: date, days: int) -> Calendar:
    [found] = calendars([timetable], Period(start, days))
    return found


BERLIN = "Europe/Berlin"
NOON = datetime(2026, 10, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time_zone", "start", "days", "begins", "ends"),
    [
        # Its midnight is left out.
        ("Africa/Cairo", date(2026, 4, 24), 1, "2026-04-24T01:00+03:00", "2026-04-25T00:00+03:00"),
        ("Pacific/Apia", date(2011, 12, 29), 2, "2011-12-29T00:00-10:00", "2011-12-31T00:00+14:00"),
        (BERLIN, date(2026, 10, 25), 1, "2026-10-25T00:00+02:00", "2026-10-26T00:00+01:00"),
        (BERLIN, NOON, 1, "2026-10-24T14:00+02:00", "2026-10-25T13:00+01:00"),
    ],
)
def test_a_date_is_midnight_and_an_instant_itself(
    time_zone: str, start: date, days: int, begins: str, ends: str
) -> None:
    """Days from a date are those of the wall clock, from an instant 24 hours."""
    record = records.calendar(of(zoned.timetable(policy="a/b", time_zone=time_zone), start, days))
    said = [datetime.fromisoformat(str(record[edge])) for edge in ("from", "until")]
    assert [each.isoformat(timespec="minutes") for each in said] == [begins, ends]


def test_intervals_carry_the_zones_offset_and_do_not_end_where_the_range_does() -> None:
    record = records.calendar(of(WEEK, date(2026, 3, 24), 7))
    assert record["intervals"] == [
        {"opens": None, "closes": "2026-03-26T17:00:00+01:00", "rules": ["windows.office"]},
        {"opens": "2026-03-30T08:00:00+02:00", "closes": None, "rules": ["windows.office"]},
    ]


def test_an_interval_is_maximal_and_names_all_that_open_a_part_of_it() -> None:
    touching = (
        Rule(Kind.WINDOW, "day", zoned.at(8), zoned.at(12)),
        Rule(Kind.WINDOW, "noon", zoned.at(12), zoned.at(13)),
    )
    [segment] = of(
        zoned.timetable(policy="a/b", time_zone="UTC", windows=touching), date(2026, 3, 24), 1
    ).intervals
    assert segment.rules == ("windows.day", "windows.noon")
    assert segment.ends - segment.begins == timedelta(hours=5)


def test_a_policy_held_open_is_open_by_that() -> None:
    first, last = datetime(2026, 3, 24, tzinfo=UTC), datetime(2026, 3, 25, tzinfo=UTC)
    for field, value in (("state", "Open"), ("outside_windows", "Open")):
        timetable = zoned.timetable(policy="a/b", time_zone="UTC", **{field: value})
        rule = "state" if field == "state" else "outsideWindows"
        assert of(timetable, date(2026, 3, 24), 1).intervals == (
            Segment(first, last, open=True, rules=(rule,)),
        )


def test_calendars_that_open_alike_are_one_group() -> None:
    clusters = [
        zoned.timetable(
            policy=WEEK.policy, cluster=name, time_zone="Europe/Berlin", windows=WEEK.windows
        )
        for name in "abc"
    ]
    other = zoned.timetable(
        policy=WEEK.policy, cluster="d", time_zone="Europe/Berlin", outside_windows="Open"
    )
    groups = alike(calendars([clusters[0], other, *clusters[1:]], Period(date(2026, 3, 24), 7)))
    assert [[one.timetable.cluster for one in group] for group in groups] == [
        ["a", "b", "c"],
        ["d"],
    ]
