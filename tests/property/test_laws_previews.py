"""What is previewed by `state` and `calendar` is what the gate program does in the cluster."""

import json
import subprocess
import sys
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest
import zoned
from changes import CHANGES, Change, changes
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import minute
from shapes import SHAPE, plan

from krm_windows.emit import configmap
from krm_windows.gate import timetable
from krm_windows.plan.model import Plan
from krm_windows.preview import exceptions, records
from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.difference import compare
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Rule, Timetable
from krm_windows.schedule.wallclock import wall
from krm_windows.schedule.zones import zone

FIRST, YEARS = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=3652)
QUARTER = timedelta(minutes=15)
# Freezes and overrides are not looked for before a zone has rules.
NOTHING_BEFORE = datetime(2024, 1, 2, tzinfo=UTC)
LATER_CHANGES = st.deferred(
    lambda: st.sampled_from([change for change in changes() if change.utc >= NOTHING_BEFORE])
)
PLANS = st.builds(plan, SHAPE, CHANGES)
INSTANTS = st.builds(
    lambda minutes: FIRST + timedelta(minutes=minutes),
    st.integers(0, YEARS // timedelta(minutes=1)),
)


def near(change: Change, hours: int) -> datetime:
    return change.utc + timedelta(hours=hours)


def state(compiled: Plan, at: datetime) -> dict[str, object]:
    return records.state(decide(compiled.timetable, at), zone(compiled.timetable.time_zone))


def emitted(compiled: Plan) -> str:
    return configmap.config_map(compiled)["data"][configmap.TIMETABLE]


@given(PLANS, INSTANTS)
@settings(max_examples=examples(300))
def test_state_is_what_the_gate_decides(compiled: Plan, at: datetime) -> None:
    decision = decide(timetable.load(emitted(compiled)), at)
    said = state(compiled, at)
    rules = ", ".join(decision.rules) or None
    assert (said["open"], said["reason"], said["rule"]) == (decision.open, decision.reason, rules)
    for edge, words in ((decision.since, said["since"]), (decision.until, said["until"])):
        assert edge == (words and datetime.fromisoformat(str(words)))


@given(SHAPE, CHANGES, st.integers(-40, 40), st.integers(1, 9))
@settings(max_examples=examples(200))
def test_the_calendar_is_what_state_says(shape: str, change: Change, hours: int, days: int) -> None:
    compiled = plan(shape, change)
    tz = zone(compiled.timetable.time_zone)
    for start in (near(change, hours), near(change, hours).astimezone(tz).date()):
        [calendar] = calendars([compiled.timetable], Period(start, days))
        record = records.calendar(calendar)
        intervals = [
            # Null goes on beyond the rim.
            (
                datetime.fromisoformat(i["opens"] or record["from"]),
                datetime.fromisoformat(i["closes"] or record["until"]),
            )
            for i in record["intervals"]
        ]
        goes_on = any(i["closes"] is None for i in record["intervals"])
        last = state(compiled, calendar.ends - timedelta(minutes=1))["open"]
        assert goes_on is (last and state(compiled, calendar.ends)["open"])
        edges = [calendar.begins, *(edge for interval in intervals for edge in interval)]
        looks = {look for edge in edges for look in (edge, edge - timedelta(minutes=1))}
        for look in (look for look in looks if calendar.begins <= look < calendar.ends):
            is_said = any(opens <= look < closes for opens, closes in intervals)
            assert state(compiled, look)["open"] is is_said


def opened(table: Timetable, begins: datetime, ends: datetime) -> set[datetime]:
    found = set()
    for part in timeline(table, begins, ends):
        first, last = ((begins - edge) // QUARTER for edge in (part.begins, part.ends))
        if part.open:
            found |= {begins + number * QUARTER for number in range(-first, -last)}
    return found


@given(SHAPE, SHAPE, CHANGES, st.integers(-100, 100), st.integers(1, 20))
@settings(max_examples=examples(100), deadline=None)
def test_a_difference_is_what_the_evaluator_says(
    before: str, after: str, change: Change, hours: int, days: int
) -> None:
    old, new = plan(before, change).timetable, plan(after, change).timetable
    found = compare(old, new, Period(near(change, hours), days))
    was, now = (opened(each, found.begins, found.ends) for each in (old, new))
    said: dict[bool, set[datetime]] = {True: set(), False: set()}
    for each in found.changes:
        held = decide(new, each.begins)
        assert (each.opens, held.open) == (held.open, not decide(old, each.begins).open)
        at = found.begins - (found.begins - each.begins) // QUARTER * QUARTER
        while at < each.ends:
            said[each.opens].add(at)
            at += QUARTER
    assert said == {True: now - was, False: was - now}


def in_force(
    rule: Rule, of: Timetable, begins: datetime, ends: datetime
) -> list[tuple[datetime, datetime]]:
    freezes = (rule._replace(state=None),)
    frozen = zoned.timetable(time_zone=of.time_zone, outside_windows="Open", freezes=freezes)
    return [(part.begins, part.ends) for part in timeline(frozen, begins, ends) if not part.open]


@pytest.mark.slow
@given(
    SHAPE,
    LATER_CHANGES,
    st.integers(-60 * 24 * 40, 60 * 24 * 40),
    st.sampled_from([1, 2, 60, 60 * 24 * 7, 60 * 24 * 500]),
    st.sampled_from([0, 29]),
)
@settings(max_examples=examples(200), deadline=None)
def test_exceptions_are_what_the_evaluator_says(
    shape: str, change: Change, start: int, minutes: int, seconds: int
) -> None:
    table = plan(shape, change).timetable
    table = table._replace(freezes=(*table.windows, *table.freezes), windows=())
    begins = change.utc + timedelta(minutes=start, seconds=seconds)
    ends = begins + timedelta(minutes=minutes)
    far = timedelta(days=400)
    wholes: list[tuple[datetime, datetime, str]] = []
    for rule in (*table.freezes, *table.overrides):
        for opens, closes in in_force(rule, table, begins - far, ends + far):
            if opens < ends and closes > begins:
                wholes.append((opens, closes, rule.name))
    said = [
        (each.begins, each.ends, each.rule.name) for each in exceptions.spans(table, begins, ends)
    ]
    assert said == sorted(wholes, key=lambda each: (each[0], each[2]))


@pytest.mark.parametrize("shape", ["nights", "every rank", "closes early, dated", "second Tuesday"])
def test_state_is_what_the_program_prints(shape: str, tmp_path: Path) -> None:
    change = Change("Europe/Berlin", minute(datetime(2027, 3, 28, 1)), 60, 120)
    compiled = plan(shape, change)
    data, listed = configmap.config_map(compiled)["data"], configmap.items(compiled)
    for item in listed:
        (tmp_path / item["path"]).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / item["path"]).write_text(data[item["key"]])
    for hours in (-3, 0, 1, 30, 24 * 1000):
        at = near(change, hours)
        command = [sys.executable, "-I", str(tmp_path), "--at", at.isoformat()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        logged, said = json.loads(done.stdout), state(compiled, at)
        assert (logged["open"], logged["reason"]) == (said["open"], said["reason"])
        for edge in ("since", "until"):
            one, other = (
                each[edge] and datetime.fromisoformat(each[edge]) for each in (logged, said)
            )
            assert one == other


@pytest.mark.parametrize("later", [-1, 0, 1, 2])
def test_days_begin_when_the_clock_shows_midnight(later: int) -> None:
    """Around every change: not a minute earlier, and at once where that midnight is left out."""
    for change in changes():
        tz, day = zone(change.zone), change.wall.date() + timedelta(days=later)
        begins, _ = Period(day, 1).bounds(tz)
        midnight = datetime.combine(day, time())
        assert wall(begins, tz) >= midnight > wall(begins - timedelta(minutes=1), tz), change
