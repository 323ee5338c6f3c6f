"""The cron grammar against the answers of robfig/cron v3, and the corners that its source shows."""

import calendar
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from krm_windows.schedule import cron, zones
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence

Vector = dict[str, Any]

FILE = Path(__file__).parents[2] / "fixtures/vectors/cron.jsonl"
VECTORS: list[Vector] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
EIGHT = Recurrence(frozenset({0}), frozenset({8}))
FIVE_YEARS = timedelta(days=5 * 366)
# Go's `unicode.IsSpace` is Unicode's White_Space, and nothing beside that.
BLANKS = [chr(code) for code in (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))]
BLANKS += ["\u2028", "\u2029", "\u202f", "\u205f", "\u3000"]
NO_BLANKS = ["\x08", "\x0e", "\x1c", "\x1d", "\x1e", "\x1f", "\u180e", "\u1fff", "\u200b", "\ufeff"]


def runs(recurrence: Recurrence, start: datetime, count: int) -> list[str]:
    """No run within five years of the last is none at all."""
    found: list[str] = []
    following = recurrence.after(start)
    while following and following - start < FIVE_YEARS and len(found) < count:
        found.append(f"{following:%Y-%m-%dT%H:%M:%SZ}")
        start, following = following, recurrence.after(following)
    return found or ["never"]


def test_the_longest_months_are_those_of_a_leap_year() -> None:
    assert list(cron.LONGEST_MONTHS) == list(range(1, 13))
    for month, length in cron.LONGEST_MONTHS.items():
        assert length == calendar.monthrange(2028, month)[1]


def test_fires_when_the_reference_fires() -> None:
    assert len(VECTORS) == 572
    for vector in VECTORS:
        is_plain = vector["timeZone"] in ("", "UTC") and vector["schedule"][:1] not in "@C"
        if "next" in vector and is_plain:
            recurrence = cron.parse(vector["schedule"]).recurrence
            start = datetime.fromisoformat(vector["from"]).astimezone(UTC).replace(tzinfo=None)
            assert recurrence is not None, vector
            assert runs(recurrence, start, len(vector["next"])) == vector["next"], vector


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("* * * * *", Recurrence()),
        ("0 8 * * *", EIGHT),
        ("0 8 ? * ?", EIGHT),
        ("+0 08 *-5 * *-x-y", EIGHT),
        ("0, ,8 * * *", EIGHT),
        ("0 8 1 * 1", EIGHT._replace(days=frozenset({1}), weekdays=frozenset({1}), either=True)),
        ("0 8 */1 * 1", EIGHT._replace(weekdays=frozenset({1}))),
        ("*/61 8-8 * JAN *", EIGHT._replace(months=frozenset({1}))),
        ("50/5 8 * * FRİ", EIGHT._replace(minutes=frozenset({50, 55}), weekdays=frozenset({5}))),
        # The largest step of Go, and one with zeros before it.
        ("*/9223372036854775807 8 * * *", EIGHT),
        ("*/00000000000000000000059 8 * * *", Recurrence(frozenset({0, 59}), frozenset({8}))),
        ("@weekly", Recurrence(frozenset({0}), frozenset({0}), weekdays=frozenset({0}))),
        ("@hourly", Recurrence(frozenset({0}))),
    ],
)
def test_reads_the_oddities_as_the_reference_does(text: str, same: Recurrence) -> None:
    """Signs, stars with tails, empty items, names and blanks mean what they mean in Go."""
    assert cron.parse(text).recurrence == same


@pytest.mark.parametrize(
    "text",
    [
        "0 8 * * 1/2/3",
        "0 8 * * 1/0",
        "0 8 * * 1/-1",
        "0 8 * * 9223372036854775808",
        "0 8 * * 1/10000000000000000000",
        "0 8 * * 1/00000000000000000000",
        "0 8 * * 1/9223372036854775808",
        " @daily",
        "@daily ",
        "@every",
        "@every 5x",
        "@every 1h ",
        "@every 9999999h",
        "TZ=Mars/Base 0 8 * * *",
        "TZ=europe/berlin 0 8 * * *",
        "TZ=UTC",
        "TZ=UTC\t0 8 * * *",
        pytest.param("9" * 5000 + " 8 * * *", id="more digits than Python reads"),
        pytest.param("@every " + "9" * 5000 + "h", id="a duration of more digits than that"),
    ],
)
def test_refuses_what_go_refuses(text: str) -> None:
    """What the vectors do not hold, read in the source: the parser's own refusals."""
    with pytest.raises(cron.CronError):
        cron.parse(text)


def test_blanks_are_those_of_go() -> None:
    for blank in BLANKS:
        assert cron.parse(f"0{blank}8 * * *") == cron.parse("0 8 * * *"), ascii(blank)
    for blank in NO_BLANKS:
        with pytest.raises(cron.CronError):
            cron.parse(f"0{blank}8 * * *")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("@every 90m", timedelta(minutes=90)),
        ("@every 1h30m10.9s", timedelta(hours=1, minutes=30, seconds=10)),
        ("@every .5h", timedelta(minutes=30)),
        ("@every 5ms", timedelta(seconds=1)),
        ("@every -5m", timedelta(seconds=1)),
        ("@every 0", timedelta(seconds=1)),
        ("TZ=UTC @every +2h", timedelta(hours=2)),
    ],
)
def test_every_reads_go_durations(text: str, period: timedelta) -> None:
    assert cron.parse(text).every == period


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("TZ=Europe/Berlin 0 8 * * *", "Europe/Berlin"),
        ("CRON_TZ=UTC   @daily  ", "UTC"),
        ("TZ= 0 8 * * *", ""),
    ],
)
def test_a_zone_before_the_schedule_is_recognised(text: str, zone: str) -> None:
    assert cron.parse(text).time_zone == zone


@pytest.mark.parametrize(
    ("field", "text", "want"),
    [
        (0, "08", 8),
        (0, "99", 99),
        (0, "+8", 8),
        (0, "-8", None),
        (0, "jan", None),
        (3, "JAN", 1),
        (3, "dec", 12),
        (4, "sun", 0),
        (4, "Sat", 6),
    ],
)
def test_a_number_of_a_field(field: int, text: str, want: int | None) -> None:
    assert cron.FIELDS[field].number(text) == want


def test_zones_come_from_the_package() -> None:
    assert {"Europe/Berlin", "Etc/UTC", "US/Pacific"} <= zones.names()
    assert not {"Local", "", "posixrules", "localtime"} & zones.names()


@pytest.mark.parametrize(
    ("numbers", "minimum", "want"),
    [
        ([], 2, ""),
        ([3], 2, "3"),
        ([2, 2], 2, "2,2"),
        ([5, 6, 0, 1], 2, "5-6,0-1"),
        ([5, 6, 0, 1], 3, "5,6,0,1"),
        ([4, 5, 6, 0], 3, "4-6,0"),
        ([1, 2, 3, 5, 7, 8], 2, "1-3,5,7-8"),
    ],
)
def test_items_of_a_field(numbers: list[int], minimum: int, want: str) -> None:
    assert cron.items(numbers, minimum) == want


@pytest.mark.parametrize(
    ("values", "full", "want"),
    [
        ({0, 1}, range(60), "0,1"),
        ({1, 2, 3, 5, 57, 58, 59}, range(60), "1-3,5,57-59"),
        (range(60), range(60), "*"),
        (range(1, 60), range(60), "1-59"),
        (range(59), range(60), "0-58"),
        (range(1, 13), EVERY_MONTH, "*"),
        (range(1, 32), EVERY_DAY, "*"),
        (range(7), EVERY_WEEKDAY, "*"),
    ],
)
def test_a_field(values: set[int], full: Iterable[int], want: str) -> None:
    assert cron.field(values, full) == want
