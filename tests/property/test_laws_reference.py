"""The evaluator and the reference evaluator say the same of every timetable."""

from datetime import UTC, datetime, time, timedelta
from itertools import islice

import pytest
import reference
import zoned
from changes import changes, of
from effort import examples, mostly_slow
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapes import SHAPES, plan

from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
ZONES = (
    *("Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "America/Havana"),
    *("Asia/Kolkata", "Etc/UTC"),
)
# A change of the clock in any of the zones, or nothing of the kind, is what dated rules and
# questions lie around.
CENTRES = st.sampled_from(
    [(zone, change.utc) for zone in ZONES for change in of(zone)[-6:]]
) | st.sampled_from([(zone, datetime(2028, 2, 28, 22, tzinfo=UTC)) for zone in ZONES])
TIMES = st.sampled_from((time(0), time(0, 30), time(2, 15), time(17), time(23, 59)))
LENGTHS = st.sampled_from((1, 9, 60, 719, 1439, 1440, 1441, 2880, 4000, 50000)).map(
    lambda each: each * MINUTE
)
SOME_DAYS = st.frozensets(st.integers(1, 31), min_size=1, max_size=4)
SOME_WEEKDAYS = st.frozensets(st.integers(0, 6), min_size=1, max_size=4)


@st.composite
def recurrences(draw: st.DrawFn, often: bool) -> Recurrence:  # noqa: FBT001 - drawn
    minutes = draw(
        st.just(frozenset({0})) | st.frozensets(st.integers(0, 59), min_size=1, max_size=3)
    )
    if often and draw(st.integers(0, 5)) == 0:
        minutes = frozenset(range(0, 60, draw(st.sampled_from((1, 2, 10)))))
    hours = draw(
        st.just(frozenset(range(24) if often else {0}))
        | st.frozensets(st.integers(0, 23), min_size=1, max_size=3)
    )
    match draw(st.integers(0, 4)):
        case 0:
            return Recurrence(minutes, hours)
        case 1:
            return Recurrence(minutes, hours, weekdays=draw(SOME_WEEKDAYS))
        case 2:
            nth = draw(st.sampled_from((1, 2, 5, -1, -3)))
            days = {"weekdays": draw(SOME_WEEKDAYS), "shift": draw(st.integers(0, 27))}
            return Recurrence(minutes, hours, nth=nth, **days)
        case 3:
            return Recurrence(
                minutes, hours, days=draw(SOME_DAYS), weekdays=draw(SOME_WEEKDAYS), either=True
            )
    return Recurrence(
        minutes, hours, days=draw(SOME_DAYS), months=frozenset(draw(st.sets(st.integers(1, 12))))
    )


@st.composite
def timetables(draw: st.DrawFn, often: bool) -> tuple[Timetable, datetime]:  # noqa: FBT001
    zone, centre = draw(CENTRES)
    near = st.integers(-4000, 4000).map(lambda minutes: centre + minutes * MINUTE)
    far = st.sampled_from((centre - 300 * DAY, centre - 500 * DAY, centre + 350 * DAY))
    instants = near | far
    points = instants | instants.map(lambda each: each.replace(tzinfo=None))
    recurring = st.tuples(recurrences(often), recurrences(often) | TIMES | LENGTHS)
    dated = st.tuples(points, points | LENGTHS | recurrences(often))
    ever = st.tuples(st.none(), points)

    def rules(kind: Kind, most: int) -> tuple[Rule, ...]:
        forms = recurring | dated | ever if kind is Kind.OVERRIDE else recurring | dated
        drawn = draw(st.lists(st.tuples(forms, st.sampled_from(("Open", "Closed"))), max_size=most))
        has_state = kind is Kind.OVERRIDE
        return tuple(
            Rule(kind, str(number), *form, reason=kind, state=state if has_state else None)
            for number, (form, state) in enumerate(drawn)
        )

    timetable = zoned.timetable(
        policy="p/q",
        time_zone=zone,
        outside_windows=draw(st.sampled_from(("Closed", "Open"))),
        closes_early=draw(st.sampled_from((0, 0, 1, 30, 200, 1440, 3000))) * MINUTE,
        windows=rules(Kind.WINDOW, 4),
        freezes=rules(Kind.FREEZE, 2),
        overrides=rules(Kind.OVERRIDE, 2),
    )
    return timetable, centre


slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@settings(slow, max_examples=examples(40))
@given(timetables(often=True), st.integers(-9000, 3000))
def test_timelines_are_those_of_the_reference(
    drawn: tuple[Timetable, datetime], begins: int
) -> None:
    timetable, centre = drawn
    start = centre + begins * MINUTE
    until = start + 4 * DAY
    expected = list(reference.timeline(timetable, start, until))
    assert list(timeline(timetable, start, until)) == expected


@settings(slow, max_examples=examples(25))
@given(timetables(often=False), st.lists(st.integers(-9000, 9000), min_size=1, max_size=3))
def test_decisions_are_those_of_the_reference(
    drawn: tuple[Timetable, datetime], minutes: list[int]
) -> None:
    timetable, centre = drawn
    for each in minutes:
        at = centre + each * MINUTE + timedelta(seconds=abs(each) % 60)
        assert decide(timetable, at) == reference.decide(timetable, at)


@pytest.mark.parametrize("shape", mostly_slow(SHAPES, every=10))
def test_every_shape_is_decided_as_by_the_reference(shape: str) -> None:
    every = changes()
    for change in islice(every, list(SHAPES).index(shape) * 5 % len(every), None, 800):
        timetable = plan(shape, change).timetable
        span = change.utc - 2 * DAY, change.utc + 2 * DAY
        for held in (timetable, timetable._replace(closes_early=25 * MINUTE)):
            assert list(timeline(held, *span)) == list(reference.timeline(held, *span)), change
