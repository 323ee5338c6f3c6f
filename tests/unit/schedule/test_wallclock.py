"""The wall clock never runs backwards, and every moment on it happens exactly once."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from effort import rows_mostly_slow

from krm_windows.plan.timetable import COVERED
from krm_windows.schedule import wallclock, zones
from krm_windows.schedule.wallclock import WallClock, instant, wall
from krm_windows.schedule.zones import zone

MINUTE = timedelta(minutes=1)

CHANGES = [
    ("Europe/Berlin", datetime(2024, 3, 31, 1)),
    ("Europe/Berlin", datetime(2024, 10, 27, 1)),
    ("America/Havana", datetime(2024, 3, 10, 5)),  # forward at midnight
    ("America/Santiago", datetime(2024, 4, 7, 3)),  # back at midnight: the day before has 25 hours
    ("Australia/Lord_Howe", datetime(2024, 4, 6, 15)),  # by half an hour
    ("Australia/Lord_Howe", datetime(2024, 10, 5, 15, 30)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10)),  # a day left out
    ("Antarctica/Troll", datetime(2024, 10, 27, 1)),  # by two hours
    ("Africa/Casablanca", datetime(2024, 3, 10, 2)),  # for Ramadan
    ("Europe/Dublin", datetime(2024, 10, 27, 1)),  # where summer is standard time
]


@pytest.mark.parametrize(("name", "change"), rows_mostly_slow(CHANGES, every=3))
def test_wall_is_the_highest_reading_so_far(name: str, change: datetime) -> None:
    """`instant` gives the first minute at which a reading is reached."""
    tz, at = zone(name), change.replace(tzinfo=UTC)
    assert (at - MINUTE).astimezone(tz).utcoffset() != at.astimezone(tz).utcoffset()
    first, *minutes = [at + MINUTE * count for count in range(-27 * 60, 27 * 60)]
    highest = first.astimezone(tz).replace(tzinfo=None)
    for minute in minutes:
        before, highest = highest, max(highest, minute.astimezone(tz).replace(tzinfo=None, fold=0))
        assert wall(minute, tz) == highest
        if before < highest:
            readings = [
                highest - MINUTE * count for count in range(min((highest - before) // MINUTE, 90))
            ]
            assert {instant(reading, tz) for reading in readings} == {minute}


@pytest.mark.parametrize(
    ("name", "at", "want"),
    [
        # The last minute before the repeated hour holds until there is new ground.
        ("Europe/Berlin", "2026-10-25T00:59", "2026-10-25T02:59"),
        ("Europe/Berlin", "2026-10-25T01:00", "2026-10-25T02:59"),
        ("Europe/Berlin", "2026-10-25T01:59:59", "2026-10-25T02:59"),
        ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T03:00"),
        # Midnight repeats.
        ("America/Santiago", "2024-04-07T03:30", "2024-04-06T23:59"),
        # Seconds are cut off.
        ("Europe/Berlin", "2026-07-01T12:00:59", "2026-07-01T14:00"),
    ],
)
def test_wall_in_a_repeated_hour(name: str, at: str, want: str) -> None:
    assert wall(datetime.fromisoformat(f"{at}Z"), zone(name)) == datetime.fromisoformat(want)


@pytest.mark.parametrize(
    ("name", "moment", "want"),
    [
        # A moment in a missing hour, or day, happens at its end, one in a repeated hour the first
        # time.
        ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30"),
        ("America/Havana", "2024-03-10T00:00", "2024-03-10T05:00"),
        ("Pacific/Apia", "2011-12-30T08:00", "2011-12-30T10:00"),
        ("Asia/Kathmandu", "2026-05-01T12:00", "2026-05-01T06:15"),
    ],
)
def test_instant_of_a_moment(name: str, moment: str, want: str) -> None:
    found = instant(datetime.fromisoformat(moment), zone(name))
    assert found == datetime.fromisoformat(f"{want}Z")


@pytest.mark.parametrize(
    "name", ["", "Local", "Mars/Olympus", "Europe", "../Europe/Berlin", "tzdata.zi", "localtime"]
)
def test_unknown_zones(name: str) -> None:
    with pytest.raises(LookupError, match="unknown time zone"):
        zone(name)


def test_an_hour_that_is_no_repetition() -> None:
    """Nuuk made its summer time the standard one, and zoneinfo marks that hour as a second one."""
    tz = zone("America/Nuuk")
    end = datetime(2023, 10, 29, 1, tzinfo=UTC)
    for minutes in range(-120, 120):
        at = end + MINUTE * minutes
        assert wall(at, tz) == at.astimezone(tz).replace(tzinfo=None, fold=0)


@pytest.mark.slow
@pytest.mark.parametrize("year", [1945, 2000, 2040, 2072])
def test_no_clock_changes_and_changes_back_unseen(year: int) -> None:
    """Of no zone, as one that is asked every day shows; those of Brazil and Gaza do for a week."""
    days = range(date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal())
    for name in zones.names():
        tz = zone(name)
        ahead = [wallclock.at(day * wallclock.DAY).astimezone(tz).utcoffset() for day in days]
        daily = sum(one != other for one, other in pairwise(ahead))
        assert len(list(wallclock.changes(tz, days))) >= daily, name


@pytest.mark.slow
def test_no_clock_changes_while_it_stands() -> None:
    for name in zones.names():
        stretches = WallClock(zone(name), COVERED).stretches
        assert all(one.begins < other.begins for one, other in pairwise(stretches)), name
