"""Durations as Go reads them, and what it costs to read them."""

import pytest
from effort import crossed
from work import growth

from krm_windows.schedule import cron, durations
from krm_windows.schedule.cron import CronError


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1h30m", 5_400 * 10**9),
        ("-1.5s", -1_500_000_000),
        ("+.5us", 500),
        ("1.µs", 1000),
        # One of each unit; the micro sign is U+00B5 or the Greek letter U+03BC.
        ("1ns", 1),
        ("1\u00b5s", 1000),
        ("1\u03bcs", 1000),
        ("1ms", 10**6),
        ("1m", 60 * 10**9),
        ("1h", 3600 * 10**9),
        ("0", 0),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("9223372036854775808ns", None),
        ("000000000000000000000000000001s", 10**9),
        ("1", None),
        (".s", None),
        ("", None),
        ("1h ", None),
        ("1h1", None),
        ("1_0s", None),
        ("\u0661s", None),
        ("9" * 5000 + "h", None),
        ("1." + "9" * 5000 + "ns", 1),
    ],
)
def test_a_duration_is_what_go_reads(text: str, nanoseconds: int | None) -> None:
    """`time.ParseDuration`: signs, fractions, bounds."""
    assert durations.nanoseconds(text) == nanoseconds


@pytest.mark.parametrize("part", ["1ns", "0", "9", "1h1", ".", "1.", "0.0"])
def test_a_duration_costs_its_length(part: str) -> None:
    assert growth(lambda size: durations.nanoseconds(part * size + "x"), 2000) < 2.5


TEXTS = ["{} * * * *", "@every {}s", "{}-5 * * * *", "*/{} * * * *", "TZ=UTC {}", "{}"]


@pytest.mark.parametrize(
    ("text", "part"), crossed(TEXTS, ["0", "1,", "*/1,", " ", "-", "/", "mon,", "\x85"])
)
def test_a_schedule_costs_its_length(text: str, part: str) -> None:
    def read(size: int) -> None:
        try:
            cron.parse(text.format(part * size))
        except CronError:
            return

    assert growth(read, 500) < 2.5
