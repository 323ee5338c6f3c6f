"""Windows at the ends of months, from the policy's text to UTC instants and to CronJobs."""

from datetime import UTC, datetime, timedelta

import pytest
from calls import call, spec, wire

from krm_windows.inventory import Inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load
from krm_windows.schedule import timeline


def compiled(zone: str, opens: str, ends: str) -> Plan:
    """Compile a policy with one window."""
    window = f"{{w: {{opens: {opens}, {ends}}}}}"
    policy = load(KubeObject.parse(spec(timeZone=zone, windows=window).encode()).node).policy
    assert policy
    plan, _ = compile_policy(policy, None, Inventory((), visible=False))
    return plan


@pytest.mark.parametrize(
    ("reason", "zone", "window", "month", "want"),
    [
        (
            "clocks go forward on the last day of March, 2024",
            "Europe/Berlin",
            ("last day 01:00", "duration: 4h"),
            "2024-03",
            "31T00:00/31T03:00",
        ),
        (
            "it opens in the missing hour",
            "Europe/Berlin",
            ("last day 02:30", "closes: '05:00'"),
            "2024-03",
            "31T01:00/31T03:00",
        ),
        (
            "clocks go back on the last day of October, 2027",
            "Europe/Berlin",
            ("last day 01:00", "closes: '04:00'"),
            "2027-10",
            "30T23:00/31T03:00",
        ),
        (
            "the last workday of October 2027 is before the change of clocks",
            "Europe/Berlin",
            ("last workday 17:00", "closes: '24:00'"),
            "2027-10",
            "29T15:00/29T22:00",
        ),
        (
            "past midnight, into the next year",
            "Europe/Berlin",
            ("last day 22:00", "closes: '04:00'"),
            "2027-12",
            "31T21:00/01T03:00",
        ),
        (
            "until the first working day, over a weekend",
            "Europe/Berlin",
            ("last workday 22:00", "closes: 1st workday 06:00"),
            "2027-07",
            "30T20:00/02T04:00",
        ),
        (
            "until the midnight that ends the month",
            "Europe/Berlin",
            ("3rd last day 00:00", "closes: last day 24:00"),
            "2028-02",
            "26T23:00/29T23:00",
        ),
        (
            "a day ahead of UTC, where the month ends sooner",
            "Pacific/Kiritimati",
            ("last day 18:00", "duration: 4h"),
            "2027-02",
            "28T04:00/28T08:00",
        ),
        (
            "behind UTC, where it ends later",
            "America/Los_Angeles",
            ("last day 18:00", "duration: 4h"),
            "2027-04",
            "01T01:00/01T05:00",
        ),
    ],
)
def test_when_it_is_open(
    reason: str, zone: str, window: tuple[str, str], month: str, want: str
) -> None:
    """Once a month, by the wall clock of the policy."""
    timetable = compiled(zone, *window).timetable
    start = datetime.fromisoformat(f"{month}-10T00:00+00:00").astimezone(UTC)
    found = list(timeline.openings(timetable, start, start + timedelta(days=30)))
    assert ["/".join(f"{at:%dT%H:%M}" for at in each) for each in found] == [want], reason


@pytest.mark.parametrize(
    ("opens", "ends", "schedules"),
    [
        (
            "last day 18:00",
            "duration: 4h",
            {"open-w": "0 18 28-31 * *", "close-w": "0 22 28-31 * *"},
        ),
        (
            "last day 22:00",
            "closes: '04:00'",
            {"open-w": "0 22 28-31 * *", "close-w": "0 4 1 * *"},
        ),
        (
            "last workday 22:00",
            "closes: '04:00'",
            {"open-w": "0 22 26-31 * *", "close-w": "0 4 1,27-31 * *"},
        ),
        (
            "1st workday 09:00",
            "duration: 1h",
            {"open-w": "0 9 1-3 * *", "close-w": "0 10 1-3 * *"},
        ),
    ],
)
def test_cron_jobs_wake_the_gate_on_every_such_day(
    opens: str, ends: str, schedules: dict[str, str]
) -> None:
    """Cron has no last day: they run on each day that may be one, and the gate decides."""
    triggers = compiled("Europe/Berlin", opens, ends).triggers
    found = {each.slug: each.schedule for each in triggers if each.slug in schedules}
    assert found == schedules


def test_kubectl_has_no_gate_that_decides() -> None:
    """So it is told, and not opened on four days of a month."""
    text = spec(windows="{w: {opens: last day 18:00, duration: 4h}}", actuator="{type: Kubectl}")
    results = call(wire(config=text)).results
    found = [each["message"] for each in results if each["severity"] == "error"]
    assert len(found) == 1
    assert "is an nth day of a month" in found[0]
