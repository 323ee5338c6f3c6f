"""The controller model against robfig/cron v3 and its faults, and against croniter."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from croniter import croniter
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from krm_windows.schedule import cron, zones
from krm_windows.schedule.controller import runs
from krm_windows.schedule.cron import CronError

Vector = dict[str, Any]

FILE = Path(__file__).parents[2] / "fixtures/vectors/cron.jsonl"
VECTORS: list[Vector] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def answers(vector: Vector) -> list[datetime] | None:
    if "error" in vector:
        return None
    return [datetime.fromisoformat(run) for run in vector["next"] if run != "never"]


def next_runs(schedule: str, zone: str, after: datetime, count: int) -> list[datetime]:
    return list(islice(runs(schedule, zone, after), count))


def modelled(vector: Vector) -> list[datetime] | None:
    start = datetime.fromisoformat(vector["from"])
    try:
        return next_runs(
            vector["schedule"], vector["timeZone"], start, len(vector.get("next", "?"))
        )
    except CronError:
        return None


def test_fires_when_the_reference_fires() -> None:
    for vector in VECTORS:
        found = modelled(vector)
        assert found == answers(vector), vector
        assert all(run.tzinfo is UTC for run in found or ()), vector


@pytest.mark.parametrize(
    ("zone", "schedule", "after", "want"),
    [
        # A missing moment is skipped, a repeated one happens twice.
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", ["2026-03-30T00:30"]),
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2026-10-24T12:00",
            ["2026-10-25T00:30", "2026-10-25T01:30"],
        ),
        # A missing midnight is a missing day.
        ("America/Havana", "0 0 * * *", "2026-03-07T12:00", ["2026-03-09T04:00"]),
        # A half-hour change at two delays the next day's midnight past it.
        (
            "Australia/Lord_Howe",
            "@daily",
            "2026-04-04T12:00",
            ["2026-04-04T13:00", "2026-04-06T13:30"],
        ),
        # A schedule that names no moment has no runs, and that is known at once.
        ("Europe/Berlin", "0 8 30 2 *", "2026-03-06T12:00", []),
        ("Europe/Berlin", "0 8 * * ,", "2026-03-06T12:00", []),
        # Without a leap day in 2100, `Next` gives up: at the turn to the sixth year, as
        # robfig/cron v3.0.1 answered.
        ("", "0 8 29 2 *", "2090-01-01T00:00", ["2092-02-29T08:00", "2096-02-29T08:00"]),
        ("", "0 0 29 2 *", "2097-03-01T00:00", []),
        ("", "0 0 29 2 *", "2098-03-01T00:00", []),
        ("", "0 0 29 2 *", "2099-03-01T00:00", ["2104-02-29T00:00"]),
        # Stepping on to 30 December 2011, which Samoa did not have, the model ends, and the
        # reference hangs.
        ("Pacific/Apia", "0 0 31 * *", "2011-12-28T00:00", []),
        # A zone in the schedule outranks the one beside it; `Local` is no zone of its own.
        ("", "0 8 * * *", "2026-03-06T12:00", ["2026-03-07T08:00"]),
        ("", "TZ=Asia/Tokyo 0 8 * * *", "2026-03-06T12:00", ["2026-03-06T23:00"]),
        ("Asia/Tokyo", "TZ= 0 8 * * *", "2026-03-06T12:00", ["2026-03-07T08:00"]),
        ("Asia/Tokyo", "TZ=Local 0 8 * * *", "2026-03-06T12:00", ["2026-03-06T23:00"]),
    ],
)
def test_what_the_vectors_do_not_ask(zone: str, schedule: str, after: str, want: list[str]) -> None:
    # After the two leap days before 2100 there is no third one.
    count = 5 if "2092" in "".join(want) else max(1, len(want))
    found = next_runs(schedule, zone, datetime.fromisoformat(f"{after}Z"), count)
    assert [f"{run:%Y-%m-%dT%H:%M}" for run in found] == want


@pytest.mark.parametrize(
    ("schedule", "zone"), [("0 8 * * 7", ""), ("0 8 * * *", "Mars/Base"), ("0 8 * * *", "Local")]
)
def test_refusals_come_before_the_first_run(schedule: str, zone: str) -> None:
    """The schedule and the zone are checked when one asks, not when one reads the answer."""
    with pytest.raises(CronError):
        runs(schedule, zone, datetime(2026, 3, 6, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("schedule", "after", "want"),
    [
        ("@every 90m", "12:00:10.5", ["13:30:10", "15:00:10"]),
        ("@every 1.9s", "12:00:00", ["12:00:01", "12:00:02"]),
        ("* * * * *", "12:00:59.9", ["12:01:00", "12:02:00"]),
        ("*/15 * * * *", "12:15:30", ["12:30:00", "12:45:00"]),
    ],
)
def test_runs_fall_on_whole_seconds(schedule: str, after: str, want: list[str]) -> None:
    """A period is counted from the second that has begun, a schedule from the next one."""
    found = next_runs(schedule, "Europe/Berlin", datetime.fromisoformat(f"2026-03-06T{after}Z"), 2)
    assert found == [datetime.fromisoformat(f"2026-03-06T{run}Z") for run in want]


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    some = st.lists(numbers, min_size=1, max_size=3, unique=True)
    pairs = st.lists(numbers, min_size=2, max_size=2, unique=True).map(sorted)
    ends = pairs.map("{0[0]}-{0[1]}".format)
    lists = some.map(lambda each: ",".join(map(str, each)))
    return st.just("*") | lists | ends | st.builds("{}/{}".format, ends, st.integers(1, 5))


BOUNDS = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)]
SCHEDULES = st.tuples(*(fields(*bounds) for bounds in BOUNDS)).map(" ".join)
CHANGING = st.sampled_from(
    ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Africa/Cairo"]
)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))


@settings(max_examples=examples(150))
@given(SCHEDULES, MOMENTS, st.sampled_from(["UTC", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo"]))
def test_croniter_agrees(schedule: str, after: datetime, zone: str) -> None:
    """An independent implementation, where grammars agree and no clock changes."""
    offset = after.astimezone(zones.zone(zone)).utcoffset()
    assert offset is not None
    naive = after.replace(tzinfo=None) + offset
    other = croniter(schedule, naive, ret_type=datetime)
    want = [(other.get_next() - offset).replace(tzinfo=UTC) for _ in range(5)]
    assert next_runs(schedule, zone, after, 5) == want


@settings(max_examples=examples(60))
@given(SCHEDULES, MOMENTS, CHANGING)
def test_runs_are_a_chain(schedule: str, after: datetime, zone: str) -> None:
    found = list(islice(runs(schedule, zone, after), 6))
    assert found[0] > after
    assert all(later > earlier for earlier, later in pairwise(found))
    assert next_runs(schedule, zone, found[0], 5) == found[1:]


@settings(max_examples=examples(60))
@given(SCHEDULES, MOMENTS, CHANGING)
@example("30 1 * 10 *", datetime(2026, 10, 3, tzinfo=UTC), "Australia/Lord_Howe")
@example("0 0,1 9 3 *", datetime(2029, 1, 1, tzinfo=UTC), "America/Havana")
def test_runs_match_the_schedule(schedule: str, after: datetime, zone: str) -> None:
    """Where the clock skips midnight, robfig/cron v3.0.1 runs a day late."""
    recurrence = cron.parse(schedule).recurrence
    assert recurrence is not None
    for run in next_runs(schedule, zone, after, 6):
        local = run.astimezone(zones.zone(zone))
        assert local.minute in recurrence.minutes
        before = (run - timedelta(hours=1)).astimezone(zones.zone(zone))
        assert local.hour in recurrence.hours or local.utcoffset() != before.utcoffset()
        yesterday = (run - timedelta(days=1)).astimezone(zones.zone(zone))
        assert recurrence.on(local.toordinal()) or local.utcoffset() != yesterday.utcoffset()
