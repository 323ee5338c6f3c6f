"""Instants as clocks show them, and the changes of clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from krm_windows.preview.clock import changes, shown, stamp, words
from krm_windows.schedule.zones import zone

BERLIN = zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("time_zone", "month", "said"),
    [
        ("Europe/Berlin", (2027, 3), "Sun 2027-03-28 02:00: clocks go forward to 03:00"),
        ("Europe/Berlin", (2027, 10), "Sun 2027-10-31 03:00: clocks go back to 02:00"),
        ("Australia/Lord_Howe", (2027, 4), "Sun 2027-04-04 02:00: clocks go back to 01:30"),
        ("Africa/Cairo", (2026, 4), "Fri 2026-04-24 00:00: clocks go forward to 01:00"),
    ],
)
def test_a_change_is_found_to_the_minute(time_zone: str, month: tuple[int, int], said: str) -> None:
    tz, begins = zone(time_zone), datetime(*month, 1, tzinfo=UTC)
    [change] = changes(tz, begins, begins + timedelta(days=31))
    assert words(change, tz) == f"{said} ({time_zone})"
    apia, december = zone("Pacific/Apia"), datetime(2011, 12, 1, tzinfo=UTC)
    [change] = changes(apia, december, december + timedelta(days=31))
    assert "clocks go forward to Sat 2011-12-31 00:00" in words(change, apia)


def test_a_change_belongs_to_the_interval_that_begins_with_it() -> None:
    [change] = changes(
        BERLIN, datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 3, 29, tzinfo=UTC)
    )
    assert change.at == datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert changes(BERLIN, datetime(2027, 3, 27, tzinfo=UTC), change.at) == ()


def test_both_readings_of_a_repeated_hour_are_written() -> None:
    """From UTC as from the zone itself, where the two are equal (PEP 495)."""
    instants = [datetime(2027, 10, 31, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    wanted = [f"2027-10-31T02:30:00+0{2 - hour}:00" for hour in (0, 1)]
    local = [at.astimezone(BERLIN) for at in instants]
    assert local[0] == local[1]
    assert [stamp(at, BERLIN) for at in local] == wanted
    assert [stamp(at, BERLIN) for at in instants] == wanted
    # Berlin was 53 minutes and 28 seconds ahead, which RFC 3339 cannot write.
    long_ago = datetime(1890, 1, 1, tzinfo=UTC)
    assert stamp(long_ago, ZoneInfo("Europe/Berlin")) == "1890-01-01T00:00:00+00:00"


def test_a_repeated_hour_is_distinguished() -> None:
    instants = (datetime(2027, 10, 31, hour, 30, tzinfo=UTC) for hour in (0, 1, 2))
    assert [shown(at, BERLIN) for at in instants] == [
        "Sun 2027-10-31 02:30 +02:00",
        "Sun 2027-10-31 02:30 +01:00",
        "Sun 2027-10-31 03:30",
    ]
