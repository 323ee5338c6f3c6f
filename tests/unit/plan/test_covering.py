"""A covering schedule fires at every moment asked for, and is the smaller of the two that could."""

from datetime import datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.gate.recurrence import Recurrence
from krm_windows.plan import covering
from krm_windows.plan.covering import Moment
from krm_windows.schedule import cron

MONDAY = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({1}))
PATCH_TUESDAY = Recurrence(frozenset({0}), frozenset({22}), weekdays=frozenset({2}), nth=2)
FIFTH_TUESDAY = Recurrence(frozenset({0}), frozenset({22}), weekdays=frozenset({2}), nth=5)


@pytest.mark.parametrize(
    ("reason", "recurrence", "at", "want"),
    [
        ("a weekday is itself", MONDAY, {Moment(0, 480)}, "0 8 * * 1"),
        ("a day later is the next weekday", MONDAY, {Moment(1, 0)}, "0 0 * * 2"),
        ("an early close crosses midnight backwards", MONDAY, {Moment(-1, 1435)}, "55 23 * * 0"),
        ("weekly is rarer than seven days a month", PATCH_TUESDAY, {Moment(0, 1320)}, "0 22 * * 2"),
        ("three days a month are rarer than weekly", FIFTH_TUESDAY, {Moment(0, 1320)}, "0 22 29-31 * *"),
        ("a fifth weekday may end next month", FIFTH_TUESDAY, {Moment(1, 120)}, "0 2 1,30,31 * *"),
        (
            "either of a day and every weekday is every day",
            Recurrence(frozenset({0}), frozenset({8}), days=frozenset({3}), either=True),
            {Moment(0, 480)},
            "0 8 * * *",
        ),
        (
            "runs of three are ranges",
            Recurrence(frozenset({0}), frozenset({1, 2, 3, 7})),
            {Moment(0, 60 * hour) for hour in (1, 2, 3, 7)},
            "0 1-3,7 * * *",
        ),
    ],
)
def test_smallest(reason: str, recurrence: Recurrence, at: set[Moment], want: str) -> None:
    """Of the schedules that cover, the one with the fewest runs a year is taken."""
    assert covering.cover(recurrence, at) == want, reason


@pytest.mark.parametrize(
    ("begin", "end", "want"),
    [
        (Moment(0, 480), time(17), Moment(0, 1020)),
        (Moment(0, 480), time(4), Moment(1, 240)),
        (Moment(0, 480), time(8), Moment(1, 480)),
        (Moment(0, 480), time(0), Moment(1, 0)),
        (Moment(0, 480), timedelta(days=2, hours=20), Moment(3, 240)),
    ],
)
def test_ends_of(begin: Moment, end: time | timedelta, want: Moment) -> None:
    """A time of day is the next such time after the beginning, at most a day later; a duration is counted on."""
    assert covering.ends_of(begin, end) == want


def some(low: int, high: int) -> st.SearchStrategy[frozenset[int]]:
    """Draw a set of numbers, often all of them."""
    every = st.just(frozenset(range(low, high + 1)))
    return every | st.frozensets(st.integers(low, high), min_size=1, max_size=4)


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrence:
    """Draw a recurrence as the moments grammar makes them."""
    times = {"minutes": draw(st.frozensets(st.integers(0, 59), min_size=1, max_size=3)), "hours": draw(some(0, 23))}
    if draw(st.booleans()):
        weekday = frozenset({draw(st.integers(0, 6))})
        return Recurrence(
            **times, weekdays=weekday, nth=draw(st.sampled_from((1, 2, 3, 4, 5, -1))), shift=draw(st.integers(0, 27))
        )
    days, weekdays = draw(some(1, 31)), draw(some(0, 6))
    return Recurrence(**times, days=days, months=draw(some(1, 12)), weekdays=weekdays, either=draw(st.booleans()))


@given(recurrences(), st.integers(-1440, 4 * 1440), st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)))
def test_covers(recurrence: Recurrence, shift: int, start: datetime) -> None:
    """Whatever recurs and however far it is moved, the schedule fires at it."""
    moments = covering.moments(recurrence)
    schedule = cron.parse(covering.cover(recurrence, {moment.shifted(shift) for moment in moments})).recurrence
    assert schedule is not None
    moment = recurrence.after(start)
    if moment is not None:
        moved = moment + timedelta(minutes=shift)
        assert schedule.at_or_before(moved) == moved
