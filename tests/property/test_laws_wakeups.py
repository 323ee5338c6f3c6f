"""Laws of wake-ups: replayed as the controller would fire them, the emitted schedules look at every edge.

Late by `interval` at most, whatever clocks do; and away from their changes within the minute, as the gate program waits
for an edge that it comes a little too early for.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

import pytest
from changes import Change, of
from shapes import DATED, RECURRING, SHAPES, plan

from krm_windows.plan.model import Plan
from krm_windows.plan.wakeups import WakeUp, Wording, wake_ups
from krm_windows.schedule.controller import runs
from krm_windows.schedule.timeline import timeline

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
START, UNTIL = datetime(2022, 1, 1, tzinfo=UTC), datetime(2032, 1, 1, tzinfo=UTC)
INTERVALS = [
    *(timedelta(minutes=minutes) for minutes in (1, 2, 3, 5, 10, 15, 20, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
]
# Those that change at midnight or by half an hour, one that jumps by two hours, one that never changes, and the usual.
ZONES = (
    "Africa/Cairo",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Kolkata",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
)


def replayed(look: WakeUp, start: datetime, until: datetime) -> list[datetime]:
    """Fire a schedule as the controller does, from a day before `start` to a day after `until`."""
    return list(takewhile(lambda run: run < until + DAY, runs(look.schedule, look.time_zone, start - DAY)))


def unseen(policy: Plan, start: datetime, until: datetime) -> Iterator[datetime]:
    """Give the edges, clock changes aside, at which no CronJob fires within a minute, the regular look left out.

    A change at midnight can cost the controller the whole day after it; and closing early counts real time, while the
    schedules count the wall clock's.
    """
    looks = [look for look in policy.wake_ups if look.slug != "look"]
    fired = sorted({run for look in looks for run in replayed(look, start, until)})
    aside = DAY + policy.timetable.closes_early
    near = [change.utc for change in of(policy.timetable.time_zone) if start - DAY < change.utc < until + 2 * DAY]
    for edge in [segment.begins for segment in timeline(policy.timetable, start, until)][1:]:
        by_change = any(abs(change - edge) <= aside for change in near)
        at = bisect_left(fired, edge - MINUTE)
        if not by_change and (at == len(fired) or fired[at] > edge + MINUTE):
            yield edge


@pytest.mark.parametrize("shape", RECURRING)
def test_every_edge_of_ten_years_is_looked_at(shape: str) -> None:
    """Whatever recurs, in a zone of its own: ten years, each edge."""
    zone = ZONES[list(RECURRING).index(shape) % len(ZONES)]
    policy = plan(shape, Change(zone, 0, 0, 0))
    assert list(unseen(policy, START, UNTIL)) == []


@pytest.mark.parametrize("shape", DATED)
def test_every_dated_edge_is_looked_at(shape: str) -> None:
    """What is dated has its edges near a date; here in all zones, the date a quiet week before a change."""
    for change in (change for zone in ZONES for change in of(zone)[-8:]):
        quiet = Change(change.zone, change.at - 7 * 1440, change.before, change.before)
        assert list(unseen(plan(shape, quiet), quiet.utc - 5 * DAY, quiet.utc + 12 * DAY)) == [], quiet


@pytest.mark.parametrize("interval", INTERVALS, ids=str)
def test_no_edge_waits_longer_than_an_interval(interval: timedelta) -> None:
    """The regular look comes every `interval`, across midnight and the turn of the year too, for every fleet member."""
    timetable = plan("office hours", Change("Europe/Berlin", 0, 0, 0)).timetable
    until = UNTIL if interval >= timedelta(hours=6) else START + 7 * DAY
    for cluster in range(4):
        (look,) = (
            look
            for look in wake_ups(replace(timetable, cluster=str(cluster)), Wording(), interval)
            if look.slug == "look"
        )
        fired = replayed(look, START, until)
        assert fired[0] <= START
        assert {later - earlier for earlier, later in pairwise(fired)} == {interval}


def test_every_policy_has_its_regular_look() -> None:
    """In UTC, where no clock changes, so that it is never late itself."""
    for shape in SHAPES:
        looks = {look.slug: look for look in plan(shape, of("Europe/Berlin")[-1]).wake_ups}
        assert looks["look"].time_zone == "Etc/UTC"
