"""A recurrence is the set of wall-clock minutes that its fields name."""

from datetime import date, datetime, timedelta

import pytest

from krm_windows.schedule.recurrence import Recurrence

MONDAYS, TUESDAYS, SUNDAYS = (Recurrence(weekdays=frozenset({day})) for day in (1, 2, 0))
MONDAY_8 = MONDAYS._replace(minutes=frozenset({0}), hours=frozenset({8}))
PATCH_TUESDAY = TUESDAYS._replace(minutes=frozenset({0}), hours=frozenset({22}), nth=2)
LEAP_DAY = Recurrence(frozenset({0}), frozenset({0}), frozenset({29}), frozenset({2}))
FRIDAY_13 = Recurrence(days=frozenset({13}), weekdays=frozenset({5}))
OCTOBER_31 = Recurrence(days=frozenset({31}), months=frozenset({10}))


def _days(recurrence: Recurrence, year: int, month: int) -> list[int]:
    first = date(year, month, 1)
    days = [first + timedelta(days=count) for count in range(31)]
    return [day.day for day in days if day.month == month and recurrence.on(day.toordinal())]


@pytest.mark.parametrize(
    ("recurrence", "month", "want"),
    [
        (Recurrence(), 2, list(range(1, 29))),
        (SUNDAYS, 11, [1, 8, 15, 22, 29]),
        (FRIDAY_13, 11, [13]),
        (FRIDAY_13._replace(either=True), 12, [4, 11, 13, 18, 25]),
        (Recurrence(months=frozenset({12})), 11, []),
        (PATCH_TUESDAY, 9, [8]),
        # The first is the 7th.
        (PATCH_TUESDAY, 7, [14]),
        (MONDAYS._replace(nth=5), 11, [30]),
        (MONDAYS._replace(nth=5), 12, []),
        (MONDAYS._replace(nth=-5), 12, []),
        (MONDAYS._replace(nth=-1), 11, [30]),
        (SUNDAYS._replace(nth=-2), 10, [18]),
        (Recurrence(nth=-1), 11, [30]),
        (Recurrence(weekdays=frozenset({1, 2}), nth=-1), 12, [29]),
        # A shift crosses into the next month, and is of the month in which the day was named.
        (TUESDAYS._replace(nth=2, shift=2), 9, [10]),
        (MONDAYS._replace(nth=-1, shift=7), 12, [7]),
        (OCTOBER_31._replace(shift=1), 11, [1]),
    ],
)
def test_days_of_a_month_in_2026(recurrence: Recurrence, month: int, want: list[int]) -> None:
    assert _days(recurrence, 2026, month) == want


@pytest.mark.parametrize(
    ("recurrence", "wall", "before", "after"),
    [
        (MONDAY_8, "2026-11-16T08:00", "2026-11-16T08:00", "2026-11-23T08:00"),
        (MONDAY_8, "2026-11-16T07:59", "2026-11-09T08:00", "2026-11-16T08:00"),
        (PATCH_TUESDAY, "2026-09-08T23:00", "2026-09-08T22:00", "2026-10-13T22:00"),
        (LEAP_DAY, "2097-01-01", "2096-02-29", "2104-02-29"),
    ],
)
def test_neighbours_of_a_moment(recurrence: Recurrence, wall: str, before: str, after: str) -> None:
    """The neighbour before may be the moment itself, the one after never is."""
    at, earlier, later = map(datetime.fromisoformat, (wall, before, after))
    assert (recurrence.at_or_before(at), recurrence.after(at)) == (earlier, later)


NEVER = Recurrence(days=frozenset({31}), months=frozenset({2}))
EMPTY = [
    Recurrence(**{field: frozenset()})
    for field in ("minutes", "hours", "days", "months", "weekdays")
]


@pytest.mark.parametrize("never", [NEVER, *EMPTY])
def test_what_never_recurs_has_no_neighbours(never: Recurrence) -> None:
    assert never.at_or_before(datetime(2026, 1, 1)) is None
    assert never.after(datetime(2026, 1, 1)) is None


def test_the_ends_of_the_calendar() -> None:
    late = Recurrence(hours=frozenset({12}), minutes=frozenset({0}))
    assert late.at_or_before(datetime(1, 1, 1, 11)) is None
    assert late.at_or_before(datetime(1, 1, 2, 11)) == datetime(1, 1, 1, 12)
    assert late.after(datetime(9999, 12, 31, 12)) is None
    assert late.after(datetime(9999, 12, 30, 12)) == datetime(9999, 12, 31, 12)
    # Three days after any day: the first is 4 January of the year 1.
    moved = Recurrence(shift=3)
    assert _days(moved, 1, 1) == list(range(4, 32))
    assert moved.after(datetime(1, 1, 1)) == datetime(1, 1, 4)


def test_the_nth_of_the_named_days_of_each_month() -> None:
    days = range(date(2026, 1, 1).toordinal(), date(2028, 1, 1).toordinal())
    for nth, last_ones in ((1, {1}), (29, {29}), (-1, {28, 30, 31}), (-31, {1})):
        named = [date.fromordinal(day).day for day in Recurrence(nth=nth).named(days)]
        assert set(named) == last_ones
        assert len(named) == {29: 22, -31: 14}.get(nth, 24)
    assert not Recurrence(days=frozenset(), nth=1).named(days)
