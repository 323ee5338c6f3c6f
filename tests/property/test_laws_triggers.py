"""Laws of triggers: the emitted schedules meet every edge.

They are replayed as the controller would fire them. Those in UTC alone meet each edge to the
minute, in every zone and at every change of a clock: what zone data the controller has does not
matter, nor how long `interval` is.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

import pytest
from changes import Change, changes, of
from effort import mostly_slow
from missed_edges import missed_edges, replayed
from shapes import POLICY, RECURRING, SHAPES, compiled, plan

from krm_windows.plan.triggers import Wording, triggers

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
START, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2032, 1, 1, tzinfo=UTC)
INTERVALS = [
    *(timedelta(minutes=minutes) for minutes in (1, 2, 3, 5, 10, 15, 20, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 4, 6, 8, 12, 24)),
]
# Those that change at midnight or by half an hour, one that jumps by two hours, one that never
# changes, and the usual.
ZONES = (
    *("Africa/Cairo", "America/Havana", "America/New_York", "America/Santiago", "Antarctica/Troll"),
    *("Asia/Beirut", "Asia/Kolkata", "Atlantic/Azores", "Australia/Lord_Howe", "Europe/Berlin"),
)
# The schedules at each change are tried for one change in so many, others of them for each shape.
STRIDE = 12


@cache
def coming() -> list[Change]:
    return [change for change in changes() if change.utc >= START]


@pytest.mark.parametrize("shape", mostly_slow(RECURRING, every=12))
def test_every_edge_of_some_years_is_met(shape: str) -> None:
    zone = ZONES[list(RECURRING).index(shape) % len(ZONES)]
    assert missed_edges(plan(shape, Change(zone, 0, 0, 0)), START, START + 3 * 366 * DAY) == []


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, every=66))
def test_every_edge_at_a_change_is_met(shape: str) -> None:
    number = list(SHAPES).index(shape)
    for change in coming()[number % STRIDE :: STRIDE]:
        missed = missed_edges(plan(shape, change), change.utc - 3 * DAY, change.utc + 3 * DAY)
        assert missed == [], change


@pytest.mark.parametrize(
    "zone",
    mostly_slow([*ZONES, "Africa/Casablanca", "Africa/El_Aaiun", "America/Vancouver"], every=6),
)
@pytest.mark.parametrize("interval", ["10m", "24h"])
def test_an_edge_in_a_change_of_the_clock_is_met(zone: str, interval: str) -> None:
    for change in [each for each in of(zone) if each.utc >= START][:12]:
        day = f"{change.wall:%a}"
        for time in (f"{change.wall:%H:%M}", f"{change.wall + 20 * MINUTE:%H:%M}"):
            until = f"{{opens: daily 20:00, closes: '{time}'}}"
            windows = f"windows: {{w: {until}, v: {{opens: {day} {time}, duration: 5h}}}}"
            for early in ("0m", "30m"):
                text = POLICY.replace("10m", interval) % f"closesEarly: {early}, {windows}"
                policy = compiled(text.replace("$zone", zone))
                missed = missed_edges(policy, change.utc - 2 * DAY, change.utc + 2 * DAY)
                assert missed == [], change


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, every=12))
def test_there_are_few(shape: str) -> None:
    """The regular look is in UTC, where no clock changes, so that it is never late itself."""
    most = 6 if shape == "dated windows" else 4  # three that come once have six edges
    for change in coming()[::97]:
        found = {trigger.slug: trigger for trigger in plan(shape, change).triggers}
        assert found["resync"].time_zone == "Etc/UTC"
        slugs = [slug for slug in found if slug.startswith("edge-")]
        assert sum(slug.startswith("edge-utc-") for slug in slugs) <= most, change
        assert sum(not slug.startswith("edge-utc-") for slug in slugs) <= most, change


@pytest.mark.parametrize("interval", mostly_slow(INTERVALS, every=5), ids=str)
def test_no_edge_waits_longer_than_an_interval(interval: timedelta) -> None:
    timetable = plan("office hours", Change("Europe/Berlin", 0, 0, 0)).timetable
    until = UNTIL if interval >= timedelta(hours=6) else START + 7 * DAY
    for cluster in range(4):
        every = triggers(timetable._replace(cluster=str(cluster)), Wording(), interval)
        [trigger] = [each for each in every if each.slug == "resync"]
        fired = replayed(trigger, START, until)
        assert fired[0] <= START
        assert {later - earlier for earlier, later in pairwise(fired)} == {interval}
