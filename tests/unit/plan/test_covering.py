"""A covering schedule fires at every moment asked for, and is the smaller of the two that could."""

from datetime import datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.plan import covering
from krm_windows.plan.covering import Moments
from krm_windows.schedule import cron
from krm_windows.schedule.bits import DAY
from krm_windows.schedule.recurrence import Recurrence

MONDAY = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({1}))
PATCH_TUESDAY = Recurrence(frozenset({0}), frozenset({22}), weekdays=frozenset({2}), nth=2)
FIFTH_TUESDAY = Recurrence(frozenset({0}), frozenset({22}), weekdays=frozenset({2}), nth=5)


THIRD, MARCH = frozenset({3}), frozenset({3})


def eight(**fields: object) -> Recurrence:
    return Recurrence(frozenset({0}), frozenset({8}), **fields)


@pytest.mark.parametrize(
    ("recurrence", "at", "want"),
    [
        # A weekday is itself, moved the next or the last, and so it is however far it is shifted.
        (MONDAY, {480}, "0 8 * * 1"),
        (MONDAY, {DAY}, "0 0 * * 2"),
        (MONDAY, {-5}, "55 23 * * 0"),
        (MONDAY._replace(shift=1), {480}, "0 8 * * 2"),
        (MONDAY._replace(shift=8), {480}, "0 8 * * 2"),
        # Weekly is rarer than seven days a month, and three days a month are rarer than weekly.
        (PATCH_TUESDAY, {1320}, "0 22 * * 2"),
        (PATCH_TUESDAY._replace(shift=1), {480}, "0 8 * * 3"),
        (PATCH_TUESDAY._replace(nth=-1, shift=7), {480}, "0 8 * * 2"),
        (FIFTH_TUESDAY, {1320}, "0 22 29-31 * *"),
        # A fifth weekday may end next month.
        (FIFTH_TUESDAY, {DAY + 120}, "0 2 1,30,31 * *"),
        # Either of a day and every weekday is every day.
        (eight(days=THIRD, either=True), {480}, "0 8 * * *"),
        # Days of the month alone, months alone, both with weekdays: as they stand.
        (eight(days=THIRD), {480}, "0 8 3 * *"),
        (eight(months=MARCH), {480}, "0 8 * 3 *"),
        (eight(days=THIRD, weekdays=frozenset({1}), either=True), {480}, "0 8 3 * 1"),
        (eight(weekdays=frozenset({1}), months=MARCH), {480}, "0 8 * 3 1"),
        (eight(weekdays=frozenset({1}), months=MARCH, either=True), {480}, "0 8 * 3 *"),
        # Of a time before midnight and one behind it, each is covered.
        (eight(days=THIRD), {DAY - 60, DAY + 60}, "0 1,23 3,4 * *"),
        # Runs of three are ranges; every field has its first value and its last.
        (Recurrence(frozenset({0})), {60, 120, 180, 420}, "0 1-3,7 * * *"),
        (MONDAY, {DAY - 1}, "59 23 * * 1"),
        (MONDAY, {0}, "0 0 * * 1"),
        (MONDAY, set(range(DAY)), "* * * * 1"),
    ],
)
def test_smallest(recurrence: Recurrence, at: Moments, want: str) -> None:
    assert covering.cover(recurrence, at) == want


@pytest.mark.parametrize(
    ("begins", "end", "want"),
    [
        ({480}, time(17), {1020}),
        ({480}, time(4), {DAY + 240}),
        ({480}, time(8), {DAY + 480}),
        ({480}, time(0), {DAY}),
        ({480, 1020, 1080}, time(17), {1020, DAY + 1020}),
        ({480, 540}, timedelta(days=2, hours=20), {3 * DAY + 240, 3 * DAY + 300}),
    ],
)
def test_ends_of(begins: set[int], end: time | timedelta, want: set[int]) -> None:
    """A time of day is the next such time, at most a day later; a duration is counted on."""
    assert covering.ends_of(begins, end) == want


def some(low: int, high: int) -> st.SearchStrategy[frozenset[int]]:
    every = st.just(frozenset(range(low, high + 1)))
    return every | st.frozensets(st.integers(low, high), min_size=1, max_size=4)


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrence:
    times = {
        "minutes": draw(st.frozensets(st.integers(0, 59), min_size=1, max_size=3)),
        "hours": draw(some(0, 23)),
    }
    if draw(st.booleans()):
        return Recurrence(
            **times,
            weekdays=draw(some(0, 6)),
            nth=draw(st.sampled_from((1, 2, 3, 4, 5, -1, -2, -5))),
            shift=draw(st.integers(0, 27)),
        )
    days, weekdays = draw(some(1, 31)), draw(some(0, 6))
    return Recurrence(
        **times, days=days, months=draw(some(1, 12)), weekdays=weekdays, either=draw(st.booleans())
    )


@given(
    recurrences(),
    st.integers(-1440, 4 * 1440),
    st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)),
)
def test_covers(recurrence: Recurrence, shift: int, start: datetime) -> None:
    moments = covering.moments(recurrence)
    schedule = cron.parse(covering.cover(recurrence, covering.shifted(moments, shift))).recurrence
    assert schedule is not None
    moment = recurrence.after(start)
    if moment is not None:
        moved = moment + timedelta(minutes=shift)
        assert schedule.at_or_before(moved) == moved


@pytest.mark.parametrize(
    ("first", "last", "months", "want"),
    [
        # Without a leap day, January has 4.43 Mondays in the average year, and February four.
        (26, 29, {1}, "0 8 27-30 1 *"),
        (26, 30, {1}, "0 8 * 1 1"),
        (1, 3, {2}, "0 8 2-4 2 *"),
        (1, 4, {2}, "0 8 * 2 1"),
        (27, 31, {1, 3, 11}, "0 8 1,28-31 1-4,11,12 *"),
    ],
)
def test_the_days_that_are_rarer(first: int, last: int, months: set[int], want: str) -> None:
    days = frozenset(range(first, last + 1))
    sundays = eight(days=days, months=frozenset(months), weekdays=frozenset({0}))
    # A day later, so that the days have to be searched.
    assert covering.cover(sundays, {480 + DAY}) == want


@pytest.mark.parametrize(
    ("day", "months", "shift", "want"),
    [
        # The end of a month, and of a year, is followed by the first day of the next one.
        (31, {12}, 1, "0 8 1 1 *"),
        (1, {1}, -1, "0 8 31 12 *"),
        (28, {2}, 1, "0 8 1,29 2,3 *"),
        (1, {3}, -1, "0 8 28,29 2 *"),
        (29, {2}, 1, "0 8 1 3 *"),
        (31, {1}, 7, "0 8 7 2 *"),
    ],
)
def test_a_date_that_is_moved(day: int, months: set[int], shift: int, want: str) -> None:
    recurrence = eight(days=frozenset({day}), months=frozenset(months))
    assert covering.cover(recurrence, {480 + shift * DAY}) == want
