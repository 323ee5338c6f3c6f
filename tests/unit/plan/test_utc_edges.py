"""The triggers in UTC are those of a slow model that walks through the minutes one by one."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

import zoned
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_windows.checks.clock_changes import at_or_before
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Kind, Rule, Timetable
from krm_windows.plan import utc_edges
from krm_windows.plan.utc_edges import MOST, ClockChange, Schedule

ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Vancouver",
    "Australia/Lord_Howe",
    "Europe/Berlin",
)
HOUR, DAY = 60, 24 * 60
MINUTE, ONE_DAY = timedelta(minutes=1), timedelta(days=1)


def some(low: int, high: int, most: int) -> st.SearchStrategy[frozenset[int]]:
    """Draw a few numbers, or all of them."""
    return st.just(frozenset(range(low, high + 1))) | st.frozensets(
        st.integers(low, high), min_size=1, max_size=most
    )


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrence:
    """Draw a recurrence, now and then one that is there in every minute."""
    times = (draw(some(0, 59, 3)), draw(some(0, 23, 3)))
    weekdays = draw(some(0, 6, 3))
    if draw(st.booleans()):
        nth, shift = draw(st.sampled_from((1, 2, 5, -1, -3))), draw(st.integers(0, 27))
        return Recurrence(*times, weekdays=weekdays, nth=nth, shift=shift)
    return Recurrence(
        *times, days=draw(some(1, 31, 5)), weekdays=weekdays, either=draw(st.booleans())
    )


@st.composite
def timetables(draw: st.DrawFn) -> Timetable:
    """Draw a few windows that recur, in a zone whose clock is changed at hours of its own."""
    spans = st.integers(1, 3 * DAY).map(lambda minutes: minutes * MINUTE)
    ends = recurrences() | spans | st.builds(time, st.integers(0, 23), st.integers(0, 59))
    drawn = draw(st.lists(st.tuples(recurrences(), ends), min_size=1, max_size=3))
    return zoned.timetable(
        time_zone=draw(st.sampled_from(ZONES)),
        closes_early=draw(st.integers(0, 100)) * MINUTE,
        windows=tuple(Rule(Kind.WINDOW, f"w{number}", *each) for number, each in enumerate(drawn)),
    )


def is_named(recurrence: Recurrence, at: datetime) -> bool:
    """Whether a recurrence is at a moment."""
    return at_or_before(recurrence, at) == at


def is_end(window: Rule, at: datetime) -> bool:
    """Whether an occurrence may end at a moment."""
    begins = window.begins
    assert isinstance(begins, Recurrence)
    match window.ends:
        case Recurrence() as ends:
            return is_named(ends, at)
        case timedelta() as length:
            return is_named(begins, at - length)
        case time() as clock:
            begun = at_or_before(begins, at - MINUTE)
            return at.time() == clock and begun is not None and begun >= at - ONE_DAY
    raise TypeError(window)


def ends(window: Rule) -> Iterator[int]:
    """Yield at which minutes of the wall-clock day a window may end, several times if need be."""
    begins = window.begins
    assert isinstance(begins, Recurrence)
    match window.ends:
        case Recurrence() as recurrence:
            yield from minutes(recurrence)
        case timedelta() as length:
            yield from ((begin + length // MINUTE) % DAY for begin in minutes(begins))
        case time() as clock:
            yield clock.hour * HOUR + clock.minute


def minutes(recurrence: Recurrence) -> set[int]:
    """Give the minutes of the day at which something recurs."""
    return {hour * HOUR + minute for hour in recurrence.hours for minute in recurrence.minutes}


def recurring(held: Timetable, offsets: set[int]) -> set[int]:
    """Give the minutes of the UTC day that are to be met, at any offset of the clock."""
    early, found = held.closes_early // MINUTE, set()
    for window in held.windows:
        assert isinstance(window.begins, Recurrence)
        for offset in offsets:
            found |= {(begin - offset) % DAY for begin in minutes(window.begins)}
            found |= {(end - offset - early) % DAY for end in ends(window)}
    return found


def skipped(held: Timetable, change: ClockChange) -> Iterator[tuple[str, int]]:
    """Yield windows with an edge in what a change skips.

    With the minute of the UTC day at which it is reached.
    """
    begins = datetime(1, 1, 1) + (change.at + change.before - DAY) * MINUTE
    for minute in range(change.after - change.before):
        at = begins + minute * MINUTE
        for window in held.windows:
            assert isinstance(window.begins, Recurrence)
            if is_named(window.begins, at):
                yield window.name, change.at % DAY
            if is_end(window, at):
                yield window.name, (change.at - held.closes_early // MINUTE) % DAY


def fired(schedules: list[Schedule]) -> set[int]:
    """Give the minutes of the day at which any schedule fires, on whatever days."""
    return {minute for minute in range(DAY) for each in schedules if each.fires(minute)}


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(timetables())
def test_what_recurs(held: Timetable) -> None:
    """It is reached at each offset of the clock.

    At no other minute, as long as there are not too many of them.
    """
    offsets = {
        each for change in utc_edges.changes(held.zone) for each in (change.before, change.after)
    }
    known = offsets or {
        (datetime(2030, 1, 1, tzinfo=UTC).astimezone(held.zone).utcoffset() or timedelta())
        // MINUTE
    }
    wanted, schedules = recurring(held, known), utc_edges.recurring(held, held.zone)
    assert wanted <= fired(schedules)
    if len({minute % HOUR for minute in wanted}) <= MOST:
        assert wanted == fired(schedules)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(timetables())
def test_what_a_change_of_the_clock_skips(held: Timetable) -> None:
    """It is reached once it was skipped, for the rules whose edge that is, and for no others."""
    wanted: dict[int, set[str]] = {}
    for change in utc_edges.changes(held.zone):
        for name, minute in skipped(held, change):
            wanted.setdefault(minute, set()).add(name)
    found = utc_edges.single(held, held.zone, [])
    assert wanted.keys() <= fired([schedule for schedule, _ in found])
    if len(wanted) <= MOST:
        assert {schedule.first: set(names) for schedule, names in found} == wanted
    assert set().union(*(names for _, names in found)) == set().union(*wanted.values())


def test_days_are_those_of_the_beginning() -> None:
    """What is moved over midnight is read on the day before, or after."""
    monday = Recurrence(frozenset({30}), frozenset({0, 23}), weekdays=frozenset({1}))
    held = zoned.timetable(
        time_zone="Asia/Kolkata", windows=(Rule(Kind.WINDOW, "w", monday, 60 * MINUTE),)
    )
    assert [str(each) for each in utc_edges.recurring(held, held.zone)] == ["0 18-20 * * 0,1"]
