"""What the CronJob controller does to edges beside clock changes is what the build refuses."""

import json
from datetime import UTC, datetime
from itertools import takewhile

import pytest
from calls import APPS, POLICY, Answer, call, wire
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from krm_windows import rules
from krm_windows.checks import actuation
from krm_windows.inventory import Inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load
from krm_windows.results import fails
from krm_windows.schedule import controller
from krm_windows.schedule.timeline import timeline

YEARS = (datetime(2027, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC))
FAULTY = (
    "Africa/Cairo",
    "America/Havana",
    "America/Santiago",
    "Asia/Beirut",
    "Asia/Gaza",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Africa/Casablanca",
)


def built(zone: str, opens: str, closes: str) -> list[str]:
    head = POLICY[: POLICY.index("    office:")].replace("Europe/Berlin", zone)
    window = (
        f"    w: {{opens: {json.dumps(opens)}, closes: {json.dumps(closes)}}}\n"
        f"  actuator: {{type: Kubectl}}\n"
    )
    answer: Answer = call(wire(APPS, config=head + window))
    assert answer.code == (1 if any(each["severity"] == "error" for each in answer.results) else 0)
    errors = [each for each in answer.results if each["severity"] == "error"]
    return [f"{each['field']['path']}: {each['message']}" for each in errors]


@pytest.mark.parametrize(
    ("zone", "opens", "closes"),
    [
        ("Europe/Berlin", "Mon 08:00", "Thu 17:00"),
        ("Europe/Berlin", "Sun 03:00", "22:00"),
        ("Asia/Kolkata", "daily 00:00", "02:30"),
    ],
)
def test_what_no_clock_change_touches_is_kept(zone: str, opens: str, closes: str) -> None:
    assert built(zone, opens, closes) == []


def test_a_missing_hour_is_skipped_and_a_repeated_one_fires_twice() -> None:
    skipped, repeated = built("Europe/Berlin", "Sun 02:30", "Sun 22:00")
    assert skipped.startswith(
        "spec.windows.w.opens: cannot be kept: the CronJob controller also fires the edge at Sun "
        "2026-10-25 02:30 (and 9 more times until 2035-10-28), where the clocks of "
        "Europe/Berlin change; "
    )
    assert repeated.startswith(
        "spec.windows.w.opens: cannot be kept: the CronJob controller skips the edge at Sun "
        "2026-03-29 03:00 (and 9 more times until 2035-03-25)"
    )
    assert skipped.endswith("or the actuator Gate")


def test_a_clock_change_may_bring_two_edges_close() -> None:
    """A Job that starts late would undo the next edge."""
    [line] = built("Europe/Berlin", "Sun 03:03", "Sun 01:57")
    assert line.startswith("spec.windows: have edges at Sun 2026-03-29 01:57 and 6 minutes later")


def window(opens: str, ends: str, zone: str) -> Plan | None:
    head = POLICY[: POLICY.index("  windows:")].replace("Europe/Berlin", zone)
    text = f"{head}  actuator: {{type: Kubectl}}\n  windows: {{w: {{opens: {opens}, {ends}}}}}\n"
    policy = load(KubeObject.parse(text.encode()).node).policy
    plan, results = (
        compile_policy(policy, None, Inventory((), visible=False)) if policy else (None, [])
    )
    return None if fails(results) else plan


@settings(max_examples=examples(60))
@given(
    st.sampled_from(FAULTY),
    st.sampled_from(["daily", "Sun", "Fri", "Sat", "Mon-Fri"]),
    st.sampled_from([0, 1, 2, 3, 8, 23]),
    st.sampled_from(["duration: 30m", "duration: 5h", "closes: '02:20'", "closes: '17:05'"]),
)
def test_a_fault_is_reported_if_and_only_if_there_is_one(
    zone: str, days: str, hour: int, ends: str
) -> None:
    plan = window(f"{days} {hour:02}:15", ends, zone)
    assume(plan is not None)
    assert plan
    meant = [(each.begins, not each.open) for each in timeline(plan.timetable, *YEARS)][1:]
    fired = sorted(
        (run, each.suspends)
        for each in plan.triggers
        for run in takewhile(
            lambda run: run < YEARS[1], controller.runs(each.schedule, zone, YEARS[0])
        )
        if run > YEARS[0]
    )
    reported = [
        each
        for each in actuation.misfired(plan, *YEARS)
        if each.tags["rule"] == rules.KUBECTL_CLOCK_CHANGE.id
    ]
    assert bool(reported) == (meant != fired)
