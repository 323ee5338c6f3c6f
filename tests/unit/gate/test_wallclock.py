"""The wall clock never runs backwards, and every moment on it happens exactly once."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

import pytest
import zoned

from krm_windows.gate import coverage
from krm_windows.gate.bits import DAY
from krm_windows.gate.timetable import Kind, Rule
from krm_windows.gate.wallclock import instant, pieces, steady, wall
from krm_windows.gate.zones import ZoneRules
from krm_windows.gate.zones import zone as zone_of
from krm_windows.schedule import zones
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


@pytest.mark.parametrize("zone", [zones.zone, zoned.zone])
@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_wall_is_the_highest_reading_so_far(
    name: str, change: datetime, zone: Callable[[str], tzinfo]
) -> None:
    """Walked minute by minute across a change.

    `instant` gives the first minute at which a reading is reached.
    """
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


@pytest.mark.parametrize("zone", [zones.zone, zoned.zone])
def test_an_hour_that_is_no_repetition(zone: Callable[[str], tzinfo]) -> None:
    """Nuuk made its summer time the standard one, and zoneinfo marks that hour as a second one."""
    tz = zone("America/Nuuk")
    end = datetime(2023, 10, 29, 1, tzinfo=UTC)
    for minutes in range(-120, 120):
        at = end + MINUTE * minutes
        assert wall(at, tz) == at.astimezone(tz).replace(tzinfo=None, fold=0)


# Changes that no zone has had of late: a day and more that stands still, over New Year too, changes
# on days that follow each other, offsets with seconds.
HOSTILE = {
    "a day again": ZoneRules(
        "",
        "+12:00 A",
        ("2026-03-10T11:00Z -12:00 B", "2026-11-02T05:30Z +13:00 C", "2026-11-03T05:30Z +01:00 D"),
        "<D>-1",
    ),
    "over New Year": ZoneRules(
        "", "+14:00 A", ("2025-12-31T23:30Z -10:00 B", "2026-12-31T22:59Z +01:30 C"), "<C>-1:30"
    ),
    "seconds": ZoneRules("", "+00:53:28 A", ("2026-06-01T00:00Z -00:44:30 B",), "<B>0:44:30"),
}


@pytest.mark.parametrize("name", [*HOSTILE, "Europe/Berlin", "Pacific/Apia", "UTC"])
def test_pieces_are_what_the_wall_clock_shows(name: str) -> None:
    """Of each day of a year, every some minutes; and moments on that clock are found in UTC."""
    tz = zone_of(name, HOSTILE[name]) if name in HOSTILE else zoned.zone(name)
    for day in range(datetime(2025, 12, 29).toordinal(), datetime(2027, 1, 3).toordinal()):
        midnight = datetime.fromordinal(day)
        for piece in pieces(day, tz):
            for minute in {*range(0, piece.minutes, 97), piece.minutes - 1}:
                at = midnight.replace(tzinfo=UTC) + (piece.begins + minute) * MINUTE
                passed = minute if piece.runs else 0
                assert coverage.minute(wall(at, tz)) == piece.shown + passed
        assert sum(piece.minutes for piece in pieces(day, tz)) == DAY
        for moment in (midnight, midnight + 7 * MINUTE, midnight + (DAY - 1) * MINUTE):
            once = Rule(Kind.WINDOW, "once", moment, moment + 90 * MINUTE)
            want = (moment, moment + 90 * MINUTE)
            assert coverage.interval(once, tz) == tuple(
                coverage.minute(instant(each, tz)) for each in want
            )


def test_a_steady_clock_is_read_once() -> None:
    """Between two changes days are one stretch, without the days on which it may stand still."""
    tz = zoned.zone("Europe/Berlin")
    change = datetime(2026, 10, 25).toordinal()
    summer = steady(change - 1, tz)
    winter = steady(change + 3, tz)
    assert summer is not None
    assert winter is not None
    assert (summer.ahead, winter.ahead) == (120 * MINUTE, 60 * MINUTE)
    assert summer.days == range(datetime(2026, 4, 1).toordinal(), change)
    assert winter.days == range(change + 3, datetime(2027, 1, 1).toordinal())
    assert [steady(day, tz) for day in range(change, change + 3)] == [None] * 3


@pytest.mark.parametrize(
    "rule",
    [
        "EST5EDT4,0/0,J365/23",  # winter for two hours of each year
        "AAA-3BBB,J180/10,J180/22",  # forward and back
        "AAA-3BBB,J180/22,J180/10",  # back and forward
        "AAA-3BBB,J180/13,J180/14",  # both at once
        "AAA-3BBB-5,J180/14,J180/15",  # forward while it stands still
        "AAA3BBB2:01,J180/22,J180/10",
        "AAA0BBB-1,J180/10:00:30,J180/15:30:30",
        "AAA0BBB-1,J180/0,J181/1",  # at one midnight, and at the next
        "AAA0BBB-1,J181/0,J180/1",
    ],
)
def test_two_changes_within_a_day(rule: str) -> None:
    """Of a UTC day that is as long as any other, each minute is what the clock shows in it."""
    tz = zone_of("Test/Zone", ZoneRules("", "+00:00 A", (), rule))
    for begins in (datetime(2026, 12, 30, tzinfo=UTC), datetime(2027, 6, 27, tzinfo=UTC)):
        highest = coverage.minute(wall(begins, tz))
        for day in range(begins.toordinal(), begins.toordinal() + 5):
            midnight = datetime.fromordinal(day).replace(tzinfo=UTC)
            shown = []
            for minute in range(DAY):
                at = (midnight + minute * MINUTE).astimezone(tz)
                highest = max(highest, coverage.minute(at.replace(tzinfo=None)))
                shown.append(highest)
            read = []
            for piece in pieces(day, tz):
                steps = range(piece.minutes) if piece.runs else [0] * piece.minutes
                read += [piece.shown + step for step in steps]
            assert read == shown
