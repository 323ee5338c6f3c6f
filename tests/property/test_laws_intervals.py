"""Time intervals, read as Alertmanager does (v0.28.1), say what the evaluator decides."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import oracle
import pytest
from changes import CHANGES, changes
from effort import examples, mostly_slow, rows_mostly_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import SHAPE, SHAPES, plan

from krm_windows.plan.intervals import Interval, Intervals, Ranges, intervals
from krm_windows.plan.timetable import FIRST_DAY, LAST_DAY
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

MINUTE = timedelta(minutes=1)
DAYS = timedelta(days=2)


def within(number: int, ranges: Ranges) -> bool:
    return not ranges or any(first <= number <= last for first, last in ranges)


def contains(interval: Interval, local: datetime) -> bool:
    minute = local.hour * 60 + local.minute
    if interval.times and not any(first <= minute < last for first, last in interval.times):
        return False
    length = monthrange(local.year, local.month)[1]
    days = []
    for begin, end in interval.days:
        first = length + begin + 1 if begin < 0 else begin
        last = length + end + 1 if end < 0 else end
        if first <= length:
            days.append((max(first, -length), min(last, length)))
    if interval.days and not any(first <= local.day <= last for first, last in days):
        return False
    return (
        within(local.month, interval.months)
        and within(local.isoweekday() % 7, interval.weekdays)
        and within(local.year, interval.years)
    )


def muted(every: tuple[Interval, ...], local: datetime) -> bool:
    return any(contains(each, local) for each in every)


def is_plain(at: datetime, zone: ZoneInfo) -> bool:
    """Whether the clock runs as it does all year around an instant, for a day either way."""
    offsets = {
        (at + timedelta(hours=hours)).astimezone(zone).utcoffset() for hours in range(-36, 37)
    }
    return len(offsets) == 1


def is_covered(at: datetime) -> bool:
    """Whether the table has the year of an instant and the days around it: others only recur."""
    return date(FIRST_DAY.year + 1, 1, 1) + DAYS < at.date() < LAST_DAY - DAYS


def is_said(timetable: Timetable, found: Intervals, at: datetime) -> None:
    zone = oracle.zone(timetable.time_zone)
    if is_covered(at) and is_plain(at, zone):
        wanted = decide(timetable, at).open
        assert muted(found.open, at.astimezone(zone)) is wanted, at
        assert muted(found.closed, at.astimezone(zone)) is not wanted, at


@given(
    SHAPE,
    CHANGES.filter(lambda change: is_covered(change.utc)),
    st.lists(st.integers(-60 * 24 * 60, 60 * 24 * 60), min_size=20, max_size=40),
    st.integers(-400, 3000),
)
@settings(max_examples=examples(100))
def test_every_minute_is_open_or_closed_as_decided(
    shape: str, change: object, minutes: list[int], days: int
) -> None:
    timetable: Timetable = plan(shape, change).timetable
    found = intervals(timetable)
    for number in minutes:
        for around in (change.utc, change.utc + timedelta(days=days)):
            at = around.replace(second=0, tzinfo=UTC) + number * MINUTE
            is_said(timetable, found, at)


@pytest.mark.parametrize("shape", mostly_slow(sorted(SHAPES), 20))
def test_shapes_take_few_intervals(shape: str) -> None:
    found = intervals(
        plan(shape, next(filter(lambda each: is_covered(each.utc), changes()))).timetable
    )
    assert len(found.open) + len(found.closed) < 250


def dated(*overrides: Rule, **fields: object) -> Timetable:
    return plan("office hours", changes()[0]).timetable._replace(overrides=overrides, **fields)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        (None, datetime(2031, 5, 4, 12, tzinfo=UTC)),
        (datetime(2026, 3, 3, 9, tzinfo=UTC), datetime(2041, 7, 1, tzinfo=UTC)),
        (datetime(2026, 1, 1), datetime(2030, 1, 1)),
        (datetime(2026, 12, 31, 23, 59), datetime(2027, 1, 1, 0, 1)),
        (None, datetime(9999, 12, 31, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize(("state", "early"), rows_mostly_slow([("Open", 0), ("Closed", 90)], 2))
def test_overrides_of_years(
    begins: datetime | None, ends: datetime, state: str, early: int
) -> None:
    rule = Rule(Kind.OVERRIDE, "long", begins, ends, "r", state)
    timetable = dated(rule, closes_early=timedelta(minutes=early))
    found = intervals(timetable)
    assert len(found.open) + len(found.closed) < 80
    year = timedelta(days=365)
    for edge in (begins or ends - year, ends):
        for hours in (*range(-60, 60), -9000, -26000, 9000, 26000):
            if edge.year >= 9998 and hours > -9000:
                continue
            at = edge.replace(tzinfo=UTC) + timedelta(hours=hours)
            is_said(timetable, found, at)


def test_a_year_at_either_end_of_the_table_stands_for_all_beyond_it() -> None:
    """Also where it is alone in what it says: all years between the two are closed."""
    rule = Rule(Kind.OVERRIDE, "long", datetime(2025, 1, 1), datetime(2037, 1, 1), "r", "Closed")
    found = intervals(dated(rule))
    for year in (1970, 2023, 2024, 2037, 2040, 9999):
        # A Monday in office hours, on which no clock changes.
        week = (datetime(year, 6, day, 12) for day in range(1, 8))
        monday = next(day for day in week if day.weekday() == 0)
        assert muted(found.open, monday), year
        assert not muted(found.closed, monday), year
