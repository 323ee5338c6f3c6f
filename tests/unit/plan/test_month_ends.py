"""Windows at the ends of months, from the policy's text to UTC instants and to CronJobs."""

from datetime import UTC, datetime, timedelta

import pytest
from calls import loaded, spec

from krm_windows.inventory import Inventory
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.schedule import timeline


def compiled(zone: str, opens: str, ends: str) -> Plan:
    window = f"{{w: {{opens: {opens}, {ends}}}}}"
    policy = loaded(spec(timeZone=zone, windows=window)).policy
    assert policy
    plan, _ = compile_policy(policy, None, Inventory((), visible=False))
    return plan


@pytest.mark.parametrize(
    ("zone", "opens", "ends", "first", "want"),
    [
        # It opens in the missing hour; until the first working day, over a weekend.
        ("Europe/Berlin", "last day 02:30", "closes: '05:00'", "2024-03", "31T01:00/31T03:00"),
        (
            "Europe/Berlin",
            "last workday 22:00",
            "closes: 1st workday 06:00",
            "2027-07",
            "30T20:00/02T04:00",
        ),
        # A day ahead of UTC, where the month ends sooner.
        ("Pacific/Kiritimati", "last day 18:00", "duration: 4h", "2027-02", "28T04:00/28T08:00"),
    ],
)
def test_when_it_is_open(zone: str, opens: str, ends: str, first: str, want: str) -> None:
    timetable = compiled(zone, opens, ends).timetable
    start = datetime.fromisoformat(f"{first}-10T00:00+00:00").astimezone(UTC)
    found = list(timeline.openings(timetable, start, start + timedelta(days=30)))
    assert ["/".join(f"{at:%dT%H:%M}" for at in each) for each in found] == [want]


@pytest.mark.parametrize(
    ("opens", "ends", "opening", "closing"),
    [
        ("last day 18:00", "duration: 4h", "0 18 28-31 * *", "0 22 28-31 * *"),
        ("last workday 22:00", "closes: '04:00'", "0 22 26-31 * *", "0 4 1,27-31 * *"),
    ],
)
def test_cron_jobs_wake_the_gate_on_every_such_day(
    opens: str, ends: str, opening: str, closing: str
) -> None:
    """Cron has no last day: they run on each day that may be one, and the gate decides."""
    found = {each.slug: each.schedule for each in compiled("Europe/Berlin", opens, ends).triggers}
    assert (found["open-w"], found["close-w"]) == (opening, closing)
