"""What waits is counted again minute by minute, by asking the evaluator alone."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from statistics import median

import pytest
from changes import CHANGES, changes
from changes import Change as ClockChange
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import SHAPE, plan

from krm_windows.history.account import account
from krm_windows.history.revisions import Revision, VersionState
from krm_windows.history.simulation import CommittedChange, Simulation, simulate
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable
from krm_windows.system.git_objects import Commit

MINUTE = timedelta(minutes=1)
DAYS = 20
# As far as the walk goes for an opening; the program looks further.
WALK = timedelta(days=30)
OFFSETS = st.lists(st.integers(0, 86400 * DAYS - 1), max_size=25)


def replayed(timetable: Timetable, begins: datetime, offsets: list[int]) -> Simulation:
    offered = [
        CommittedChange(str(number), begins + timedelta(seconds=seconds), "", "")
        for number, seconds in enumerate(sorted(offsets))
    ]
    return simulate(timetable, offered, begins, begins + timedelta(days=DAYS), "week")


def walk(timetable: Timetable, begins: datetime) -> Callable[[datetime], datetime | None]:
    @cache
    def is_open(minute: int) -> bool:
        return decide(timetable, begins + minute * MINUTE).open

    def walked(at: datetime) -> datetime | None:
        if decide(timetable, at).open:
            return at
        first = (at - begins) // MINUTE + 1
        minutes = range(first, first + WALK // MINUTE)
        found = next(filter(is_open, minutes), None)
        return None if found is None else begins + found * MINUTE

    return walked


def around(change: ClockChange, days: int) -> datetime:
    return (change.utc - timedelta(days=days)).replace(second=0)


@pytest.mark.slow
@given(SHAPE, CHANGES, st.integers(0, DAYS), OFFSETS)
@settings(max_examples=examples(100))
def test_every_wait_is_walked_again(
    shape: str, change: ClockChange, days: int, offsets: list[int]
) -> None:
    timetable = plan(shape, change).timetable
    begins = around(change, days)
    found = replayed(timetable, begins, offsets)
    waits = {wait.change.commit: wait for wait in found.waits}
    walked = walk(timetable, begins)
    for each in found.changes:
        opens = walked(each.at)
        if opens == each.at:
            assert each.commit not in waits
        elif opens is not None:
            assert waits[each.commit].opens == opens
        else:
            later = waits[each.commit].opens
            assert later is None or later > each.at + WALK


@given(SHAPE, CHANGES, st.integers(0, DAYS), OFFSETS)
@settings(max_examples=examples(100))
def test_figures_are_those_of_the_waits(
    shape: str, change: ClockChange, days: int, offsets: list[int]
) -> None:
    found = replayed(plan(shape, change).timetable, around(change, days), offsets)
    ended = [wait for wait in found.waits if wait.opens is not None]
    seconds = sorted((wait.opens - wait.change.at).total_seconds() for wait in ended)
    assert sum(number for _, number in found.openings) == len(ended)
    assert sum(month.changes for month in found.months) == len(found.changes)
    assert sum(month.waited for month in found.months) == len(found.waits)
    total = sum((month.total for month in found.months), timedelta())
    assert total.total_seconds() == sum(seconds)
    assert found.never == len(found.waits) - len(ended)
    if not seconds:
        assert (found.median, found.percentile(95), found.longest) == (None, None, [])
        return
    assert found.median == timedelta(seconds=int(median(seconds)))
    within = found.percentile(95).total_seconds()
    # No shorter length does.
    assert sum(each <= within for each in seconds) >= 0.95 * len(seconds)
    assert sum(each < within for each in seconds) < 0.95 * len(seconds)
    assert found.longest[0].length == timedelta(seconds=seconds[-1])


def revision(
    number: int, at: datetime, state: VersionState, timetable: Timetable | None
) -> Revision:
    commit = Commit(f"{number}", int(at.timestamp()), ("", ""), "")
    return Revision(commit, at, behind=False, path="p", blob="b", state=state, timetable=timetable)


VERSIONS = st.lists(
    st.tuples(st.integers(-3000, 1440 * 3), st.sampled_from(VersionState), SHAPE), max_size=6
)


@given(VERSIONS, CHANGES, st.integers(0, 4))
@settings(max_examples=examples(60))
def test_every_minute_is_told_as_it_was(
    versions: list[tuple[int, VersionState, str]], change: ClockChange, days: int
) -> None:
    begins = around(change, days)
    ends = begins + timedelta(days=2)
    made = []
    for number, (minute, state, shape) in enumerate(sorted(versions, key=lambda each: each[0])):
        timetable = plan(shape, change).timetable if state is VersionState.READ else None
        made.append(revision(number, begins + minute * MINUTE, state, timetable))
    found = account("p", "head", made, begins, ends)
    read = {each.at: each.timetable for each in made if each.timetable is not None}
    minutes = [begins + number * MINUTE for number in range(2 * 1440)]
    wanted = [_was_open(at, made, read) for at in minutes]
    if found is None:
        # There was no policy at all.
        assert not any(wanted)
        return
    told = [any(each.begins <= at < each.ends for each in found.openings) for at in minutes]
    assert told == wanted
    assert found.open_for == sum(wanted) * MINUTE
    edges = [(each.begins, each.ends) for each in found.stretches]
    assert (edges[0][0], edges[-1][1]) == (begins, ends)
    assert all(first[1] == second[0] for first, second in pairwise(edges))


def _was_open(at: datetime, made: list[Revision], read: dict[datetime, Timetable]) -> bool:
    held = None
    for each in made:
        if each.at > at:
            break
        if each.state is VersionState.READ:
            held = each
        elif each.state is not VersionState.UNREADABLE:
            held = None
    return held is not None and decide(read[held.at], at).open


def test_a_second_at_the_edges() -> None:
    """A window is half open: its first second does not wait, the one of its end does."""
    timetable = plan("office hours", changes()[0]).timetable
    begins = datetime(2026, 3, 2, tzinfo=UTC)
    opens = decide(timetable, begins).until
    closes = decide(timetable, opens).until
    at = [opens - timedelta(seconds=1), opens, closes - timedelta(seconds=1), closes]
    offered = [CommittedChange(str(number), each, "", "") for number, each in enumerate(at)]
    found = simulate(timetable, offered, begins, begins + timedelta(days=5), "week")
    assert [(wait.change.commit, wait.opens) for wait in found.waits] == [
        ("0", opens),
        ("3", decide(timetable, closes).until),
    ]
    assert found.waits[0].length == timedelta(seconds=1)
