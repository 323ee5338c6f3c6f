"""A recurrence is the set of wall-clock minutes that its fields name."""

from datetime import date, datetime, timedelta

import pytest

from krm_windows.schedule.recurrence import EVERY_DAY, Recurrence

MONDAY_8 = Recurrence(minutes=frozenset({0}), hours=frozenset({8}), weekdays=frozenset({1}))
PATCH_TUESDAY = Recurrence(
    minutes=frozenset({0}), hours=frozenset({22}), weekdays=frozenset({2}), nth=2
)
LEAP_DAY = Recurrence(
    minutes=frozenset({0}), hours=frozenset({0}), days=frozenset({29}), months=frozenset({2})
)


def _days(recurrence: Recurrence, year: int, month: int) -> list[int]:
    first = date(year, month, 1)
    days = [first + timedelta(days=count) for count in range(31)]
    return [day.day for day in days if day.month == month and recurrence.on(day.toordinal())]


@pytest.mark.parametrize(
    ("reason", "recurrence", "month", "want"),
    [
        ("no field restricts", Recurrence(), 2, list(range(1, 29))),
        ("Sunday is 0", Recurrence(weekdays=frozenset({0})), 11, [1, 8, 15, 22, 29]),
        (
            "both day fields must match",
            Recurrence(days=frozenset({13}), weekdays=frozenset({5})),
            11,
            [13],
        ),
        (
            "either day field is enough",
            Recurrence(days=frozenset({1}), weekdays=frozenset({5}), either=True),
            12,
            [1, 4, 11, 18, 25],
        ),
        ("another month", Recurrence(months=frozenset({12})), 11, []),
        ("second Tuesday", PATCH_TUESDAY, 9, [8]),
        ("second Tuesday, where the first is the 7th", PATCH_TUESDAY, 7, [14]),
        ("fifth Monday", Recurrence(weekdays=frozenset({1}), nth=5), 11, [30]),
        ("a month without a fifth has none", Recurrence(weekdays=frozenset({1}), nth=5), 12, []),
        ("last Sunday", Recurrence(weekdays=frozenset({0}), nth=-1), 10, [25]),
        ("last day", Recurrence(nth=-1), 11, [30]),
        ("last of Mondays and Tuesdays", Recurrence(weekdays=frozenset({1, 2}), nth=-1), 12, [29]),
        ("second to last Sunday", Recurrence(weekdays=frozenset({0}), nth=-2), 10, [18]),
        (
            "a month has no fifth Monday from its end",
            Recurrence(weekdays=frozenset({1}), nth=-5),
            12,
            [],
        ),
        ("last Monday, the fifth", Recurrence(weekdays=frozenset({1}), nth=-1), 11, [30]),
        (
            "two days after Patch Tuesday",
            Recurrence(weekdays=frozenset({2}), nth=2, shift=2),
            9,
            [10],
        ),
        (
            "a shift crosses into the next month",
            Recurrence(weekdays=frozenset({1}), nth=-1, shift=7),
            12,
            [7],
        ),
        (
            "a shifted month is the month the day was named in",
            Recurrence(days=frozenset({31}), months=frozenset({10}), shift=1),
            11,
            [1],
        ),
    ],
)
def test_days_of_a_month_in_2026(
    reason: str, recurrence: Recurrence, month: int, want: list[int]
) -> None:
    """Fields, nth weekdays and shifts name the days that a calendar shows."""
    assert _days(recurrence, 2026, month) == want, reason


@pytest.mark.parametrize(
    ("recurrence", "wall", "before", "after"),
    [
        (MONDAY_8, datetime(2026, 11, 16, 8), datetime(2026, 11, 16, 8), datetime(2026, 11, 23, 8)),
        (
            MONDAY_8,
            datetime(2026, 11, 16, 7, 59),
            datetime(2026, 11, 9, 8),
            datetime(2026, 11, 16, 8),
        ),
        (
            PATCH_TUESDAY,
            datetime(2026, 9, 8, 23),
            datetime(2026, 9, 8, 22),
            datetime(2026, 10, 13, 22),
        ),
        (LEAP_DAY, datetime(2097, 1, 1), datetime(2096, 2, 29), datetime(2104, 2, 29)),
    ],
)
def test_neighbours_of_a_moment(
    recurrence: Recurrence, wall: datetime, before: datetime, after: datetime
) -> None:
    """The neighbour before may be the moment itself, the one after never is."""
    assert (recurrence.at_or_before(wall), recurrence.after(wall)) == (before, after)


def test_what_never_recurs_has_no_neighbours() -> None:
    """The search ends."""
    never = Recurrence(days=frozenset({31}), months=frozenset({2}))
    assert never.at_or_before(datetime(2026, 1, 1)) is None
    assert never.after(datetime(2026, 1, 1)) is None


def test_neighbours_agree_with_a_walk_over_all_minutes() -> None:
    """Two days of `0,20,40 5-7 * * *`, minute by minute."""
    recurrence = Recurrence(minutes=frozenset({0, 20, 40}), hours=frozenset({5, 6, 7}))
    minutes = [datetime(2026, 3, 1) + timedelta(minutes=count) for count in range(2 * 1440)]
    moments = [minute for minute in minutes if minute.hour in {5, 6, 7} and minute.minute % 20 == 0]
    for minute in minutes[1440 : -1440 + 240]:
        assert recurrence.at_or_before(minute) == max(
            moment for moment in moments if moment <= minute
        )
        assert recurrence.after(minute) == min(moment for moment in moments if moment > minute)


@pytest.mark.parametrize("field", ["minutes", "hours", "days", "months", "weekdays"])
def test_what_has_no_times_or_days_has_no_neighbours(field: str) -> None:
    """A field that allows nothing."""
    never = Recurrence(**{field: frozenset()})
    assert never.at_or_before(datetime(2026, 1, 1)) is None
    assert never.after(datetime(2026, 1, 1)) is None


def test_the_ends_of_the_calendar() -> None:
    """The first and the last day that have a date have no neighbours beyond."""
    late = Recurrence(hours=frozenset({12}), minutes=frozenset({0}))
    assert late.at_or_before(datetime(1, 1, 1, 11)) is None
    assert late.at_or_before(datetime(1, 1, 2, 11)) == datetime(1, 1, 1, 12)
    assert late.after(datetime(9999, 12, 31, 12)) is None
    assert late.after(datetime(9999, 12, 30, 12)) == datetime(9999, 12, 31, 12)


def test_days_that_are_moved_from_before_the_calendar() -> None:
    """Three days after any day: the first is 4 January of the year 1."""
    moved = Recurrence(days=EVERY_DAY, shift=3)
    assert _days(moved, 1, 1) == list(range(4, 32))
    assert moved.after(datetime(1, 1, 1)) == datetime(1, 1, 4)


def test_the_nth_of_the_named_days_of_each_month() -> None:
    """In 24 months the first, the last, and none where there are fewer; no month has another's."""
    days = range(date(2026, 1, 1).toordinal(), date(2028, 1, 1).toordinal())
    for nth, last_ones in ((1, {1}), (29, {29}), (-1, {28, 30, 31}), (-31, {1})):
        named = [date.fromordinal(day).day for day in Recurrence(nth=nth).named(days)]
        assert set(named) == last_ones
        assert len(named) == {29: 22, -31: 14}.get(nth, 24)
    assert not Recurrence(days=frozenset(), nth=1).named(days)
