"""Instants as clocks show them, and the changes of clocks."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from krm_windows.preview.clock import changes, shown, words
from krm_windows.schedule.zones import zone

BERLIN = zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("time_zone", "begins", "words_of_it"),
    [
        (
            "Europe/Berlin",
            datetime(2027, 1, 1, tzinfo=UTC),
            "Sun 2027-03-28 02:00: clocks go forward to 03:00 (Europe/Berlin)",
        ),
        (
            "Europe/Berlin",
            datetime(2027, 7, 1, tzinfo=UTC),
            "Sun 2027-10-31 03:00: clocks go back to 02:00 (Europe/Berlin)",
        ),
        (
            "Australia/Lord_Howe",
            datetime(2027, 1, 1, tzinfo=UTC),
            "Sun 2027-04-04 02:00: clocks go back to 01:30 (Australia/Lord_Howe)",
        ),
        (
            "Pacific/Apia",
            datetime(2011, 12, 1, tzinfo=UTC),
            "Fri 2011-12-30 00:00: clocks go forward to Sat 2011-12-31 00:00 (Pacific/Apia)",
        ),
    ],
)
def test_a_change_is_found_to_the_minute(
    time_zone: str, begins: datetime, words_of_it: str
) -> None:
    """By an hour, by half of one, by a day."""
    tz: ZoneInfo = zone(time_zone)
    assert words(changes(tz, begins, begins + timedelta(days=150))[0], tz) == words_of_it


def test_a_change_belongs_to_the_interval_that_begins_with_it() -> None:
    """Intervals are half open."""
    [change] = changes(
        BERLIN, datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 3, 29, tzinfo=UTC)
    )
    assert change.at == datetime(2027, 3, 28, 1, tzinfo=UTC)
    assert changes(BERLIN, datetime(2027, 3, 27, tzinfo=UTC), change.at) == ()


def test_a_repeated_hour_is_distinguished() -> None:
    """Only there the offset is shown."""
    instants = (datetime(2027, 10, 31, hour, 30, tzinfo=UTC) for hour in (0, 1, 2))
    assert [shown(at, BERLIN) for at in instants] == [
        "Sun 2027-10-31 02:30 +02:00",
        "Sun 2027-10-31 02:30 +01:00",
        "Sun 2027-10-31 03:30",
    ]
