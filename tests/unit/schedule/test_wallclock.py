"""The wall clock never runs backwards, and every moment on it happens exactly once."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise

import pytest
import zoned
from effort import mostly_slow

from krm_windows.schedule import wallclock, zones
from krm_windows.schedule.wallclock import instant, wall
from krm_windows.schedule.zones import zone

MINUTE = timedelta(minutes=1)

CHANGES = [
    ("Europe/Berlin", datetime(2024, 3, 31, 1)),
    ("Europe/Berlin", datetime(2024, 10, 27, 1)),
    ("America/Havana", datetime(2024, 3, 10, 5)),  # forward at midnight
    ("America/Havana", datetime(2024, 11, 3, 5)),
    ("America/Santiago", datetime(2024, 4, 7, 3)),  # back at midnight: the day before has 25 hours
    ("America/Santiago", datetime(2024, 9, 8, 4)),
    ("Australia/Lord_Howe", datetime(2024, 4, 6, 15)),  # by half an hour
    ("Australia/Lord_Howe", datetime(2024, 10, 5, 15, 30)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10)),  # a day left out
    ("Africa/Cairo", datetime(2024, 4, 25, 22)),
    ("Africa/Cairo", datetime(2024, 10, 31, 21)),
    ("Asia/Beirut", datetime(2024, 3, 30, 22)),
    ("Asia/Beirut", datetime(2024, 10, 26, 21)),
    ("Atlantic/Azores", datetime(2024, 3, 31, 1)),
    ("Atlantic/Azores", datetime(2024, 10, 27, 1)),
    ("Antarctica/Troll", datetime(2024, 3, 31, 1)),  # by two hours
    ("Antarctica/Troll", datetime(2024, 10, 27, 1)),
    ("Africa/Casablanca", datetime(2024, 3, 10, 2)),  # for Ramadan
    ("Africa/Casablanca", datetime(2024, 4, 14, 2)),
    ("Europe/Dublin", datetime(2024, 10, 27, 1)),  # where summer is standard time
]


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_clocks_change_there(name: str, change: datetime) -> None:
    """The table holds real clock changes."""
    at = change.replace(tzinfo=UTC)
    tz = zone(name)
    assert (at - MINUTE).astimezone(tz).utcoffset() != at.astimezone(tz).utcoffset()


@pytest.mark.parametrize("zone", mostly_slow([zones.zone, zoned.zone], 2))
@pytest.mark.parametrize("changed", mostly_slow(CHANGES, every=5))
def test_wall_is_the_highest_reading_so_far(
    changed: tuple[str, datetime], zone: Callable[[str], tzinfo]
) -> None:
    """Walked minute by minute across a change.

    `instant` gives the first minute at which a reading is reached.
    """
    name, change = changed
    tz = zone(name)
    first, *minutes = [
        change.replace(tzinfo=UTC) + MINUTE * count for count in range(-27 * 60, 27 * 60)
    ]
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
    ("reason", "name", "at", "want"),
    [
        (
            "before the hour that repeats",
            "Europe/Berlin",
            datetime(2026, 10, 25, 0, 59),
            datetime(2026, 10, 25, 2, 59),
        ),
        (
            "it stands still",
            "Europe/Berlin",
            datetime(2026, 10, 25, 1, 0),
            datetime(2026, 10, 25, 2, 59),
        ),
        (
            "to the last minute",
            "Europe/Berlin",
            datetime(2026, 10, 25, 1, 59, 59),
            datetime(2026, 10, 25, 2, 59),
        ),
        ("new ground", "Europe/Berlin", datetime(2026, 10, 25, 2, 0), datetime(2026, 10, 25, 3, 0)),
        (
            "midnight repeats",
            "America/Santiago",
            datetime(2024, 4, 7, 3, 30),
            datetime(2024, 4, 6, 23, 59),
        ),
        (
            "seconds are cut off",
            "Europe/Berlin",
            datetime(2026, 7, 1, 12, 0, 59),
            datetime(2026, 7, 1, 14, 0),
        ),
    ],
)
def test_wall_in_a_repeated_hour(reason: str, name: str, at: datetime, want: datetime) -> None:
    """The last minute before the repeated hour holds until there is new ground."""
    assert wall(at.replace(tzinfo=UTC), zone(name)) == want, reason


@pytest.mark.parametrize(
    ("reason", "name", "moment", "want"),
    [
        (
            "missing: at the end of the gap",
            "Europe/Berlin",
            datetime(2026, 3, 29, 2, 30),
            datetime(2026, 3, 29, 1),
        ),
        (
            "repeated: the first time",
            "Europe/Berlin",
            datetime(2026, 10, 25, 2, 30),
            datetime(2026, 10, 25, 0, 30),
        ),
        (
            "midnight is missing",
            "America/Havana",
            datetime(2024, 3, 10, 0, 0),
            datetime(2024, 3, 10, 5),
        ),
        (
            "the day is missing",
            "Pacific/Apia",
            datetime(2011, 12, 30, 8, 0),
            datetime(2011, 12, 30, 10),
        ),
        (
            "an ordinary minute",
            "Asia/Kathmandu",
            datetime(2026, 5, 1, 12, 0),
            datetime(2026, 5, 1, 6, 15),
        ),
    ],
)
def test_instant_of_a_moment(reason: str, name: str, moment: datetime, want: datetime) -> None:
    """A moment in a missing hour happens at its end, one in a repeated hour the first time."""
    assert instant(moment, zone(name)) == want.replace(tzinfo=UTC), reason


@pytest.mark.parametrize(
    "name", ["", "Local", "Mars/Olympus", "Europe", "../Europe/Berlin", "tzdata.zi", "localtime"]
)
def test_unknown_zones(name: str) -> None:
    """Whatever is no zone of the database is refused, in the same words."""
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
