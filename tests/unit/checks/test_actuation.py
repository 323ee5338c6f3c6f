"""Edges that act beside clock changes: what the CronJob controller does to them is what the build refuses."""

import json

import pytest
from calls import APPS, POLICY, Answer, call, wire


def built(zone: str, opens: str, closes: str) -> list[str]:
    """Build a policy with edges that act in a zone; return the fields and messages of the errors."""
    head = POLICY[: POLICY.index("    office:")].replace("Europe/Berlin", zone)
    window = f"    w: {{opens: {json.dumps(opens)}, closes: {json.dumps(closes)}}}\n  actuator: {{type: Kubectl}}\n"
    answer: Answer = call(wire(APPS, config=head + window))
    assert answer.code == (1 if any(each["severity"] == "error" for each in answer.results) else 0)
    errors = [each for each in answer.results if each["severity"] == "error"]
    return [f"{each['field']['path']}: {each['message']}" for each in errors]


@pytest.mark.parametrize(
    ("zone", "opens", "closes"),
    [
        ("Europe/Berlin", "Mon 08:00", "Thu 17:00"),
        ("Europe/Berlin", "Sun 03:00", "22:00"),
        ("Europe/Berlin", "Sat 01:30", "02:30"),
        ("Etc/UTC", "Sun 02:30", "03:30"),
        ("Asia/Kolkata", "daily 00:00", "02:30"),
    ],
)
def test_what_no_clock_change_touches_is_kept(zone: str, opens: str, closes: str) -> None:
    """Another day of the week, another hour, a zone without clock changes."""
    assert built(zone, opens, closes) == []


def test_a_missing_hour_is_skipped_and_a_repeated_one_fires_twice() -> None:
    """Both are told, each with its first date and how often it comes."""
    skipped, repeated = built("Europe/Berlin", "Sun 02:30", "Sun 22:00")
    assert skipped.startswith(
        "spec.windows.w.opens: cannot be kept: the CronJob controller repeats the edge of Sun 2026-10-25 02:30 "
        "(and 9 more times until 2035-10-28), where the clocks of Europe/Berlin change; "
    )
    assert repeated.startswith(
        "spec.windows.w.opens: cannot be kept: the CronJob controller skips the edge of Sun 2026-03-29 03:00 "
        "(and 9 more times until 2035-03-25)"
    )
    assert skipped.endswith("use the actuator Gate")


@pytest.mark.parametrize(
    ("zone", "opens", "first"),
    [
        ("Africa/Cairo", "Fri 08:00", "Fri 2026-04-24 08:00"),
        ("Asia/Beirut", "Sun 08:00", "Sun 2026-03-29 08:00"),
        ("Australia/Lord_Howe", "Sun 08:00", "Sun 2026-04-05 08:00"),
    ],
)
def test_faults_of_the_controller_are_known(zone: str, opens: str, first: str) -> None:
    """Where clocks change at midnight, or by half an hour, it loses the whole day."""
    [line] = built(zone, opens, "Tue 17:00")
    assert line.startswith(
        f"spec.windows.w.opens: cannot be kept: the CronJob controller skips the edge of {first} (and "
    )


def test_a_clock_change_may_bring_two_edges_close() -> None:
    """An hour and a bit on the wall clock are minutes, and a Job that starts late would undo the next edge."""
    [line] = built("Europe/Berlin", "Sun 03:03", "Sun 01:57")
    assert line.startswith("spec.windows: have edges at Sun 2026-03-29 01:57 and 6 minutes later")
