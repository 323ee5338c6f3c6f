"""Around every change of every clock, evaluator and oracle say the same of every minute."""

from datetime import timedelta
from itertools import pairwise

import pytest
from changes import Change, changes, groups
from effort import mostly_slow
from oracle import DAY, HOUR, MINUTE, minute, states, utc, walk
from shapes import SHAPES, plan

from krm_windows.schedule import wallclock, zones
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Timetable

# Three days around a change. Every change meets three of the shapes, and each shape changes of all
# kinds of zones.
BEFORE, MINUTES = DAY + DAY // 2, 3 * DAY
STRIDE = len(SHAPES) // 3


def around(change: Change, shape: str) -> tuple[Timetable, int]:
    return plan(shape, change).timetable, change.at - BEFORE


def met_by(shape: str, stride: int) -> list[Change]:
    return changes()[list(SHAPES).index(shape) % stride :: stride]


def written(timetable: Timetable, start: int, count: int) -> bytes:
    segments = list(timeline(timetable, utc(start), utc(start + count)))
    edges = [utc(start), *(segment.ends for segment in segments)]
    assert edges == [*(segment.begins for segment in segments), utc(start + count)]
    assert all(one.open != other.open for one, other in pairwise(segments))
    marks = [-((utc(start) - edge) // MINUTE) for edge in edges]
    return b"".join(
        bytes([s.open]) * (b - a) for s, (a, b) in zip(segments, pairwise(marks), strict=True)
    )


def test_no_change_is_left_out() -> None:
    assert sorted(name for group in groups() for name in group.zones) == sorted(zones.names())
    jumps = {change.after - change.before for change in changes()}
    assert jumps >= {60, -60, 30, -30, 1440, 180, -180}
    assert {change for shape in SHAPES for change in met_by(shape, STRIDE)} == set(changes())


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, every=66))
def test_every_minute(shape: str) -> None:
    for change in met_by(shape, STRIDE):
        timetable, start = around(change, shape)
        for first, count in ((start, MINUTES), (change.at - 15, HOUR), (change.at + 15, HOUR)):
            assert written(timetable, first, count) == states(timetable, first, count), change


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, every=30))
def test_decisions_at_every_edge(shape: str) -> None:
    """Half open: at an edge the new state holds, one tick before it the old one."""
    for change in met_by(shape, STRIDE * 9):
        timetable, start = around(change, shape)
        segments = list(timeline(timetable, utc(start), utc(start + MINUTES)))
        for earlier, later in pairwise(segments[:6]):
            before, now = (
                decide(timetable, later.begins - timedelta.resolution),
                decide(timetable, later.begins),
            )
            assert (before.open, before.until) == (earlier.open, later.begins)
            assert (now.open, now.since) == (later.open, later.begins)
            assert later is segments[-1] or now.until == later.ends


@pytest.mark.slow
def test_the_wall_clock_at_every_minute() -> None:
    """From an hour before a change until it has long caught up: the latest that was ever shown."""
    for change in changes():
        tz, start = zones.zone(change.zone), change.at - HOUR
        for at, shown in enumerate(walk(change.zone, start, 5 * HOUR).shown, start):
            assert minute(wallclock.wall(utc(at), tz)) == shown, change


@pytest.mark.slow
def test_instants_of_every_wall_clock_minute() -> None:
    """The instant of a wall-clock minute is the first at which the clock has reached it."""
    for change in changes():
        tz, start = zones.zone(change.zone), change.at - HOUR
        shown = walk(change.zone, start, 5 * HOUR).shown
        for at, (before, now) in enumerate(pairwise(shown), start + 1):
            for wall in range(before + 1, now + 1):
                naive = utc(wall).replace(tzinfo=None)
                assert minute(wallclock.instant(naive, tz)) == at, (change, naive)
