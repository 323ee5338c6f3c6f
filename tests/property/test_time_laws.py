"""Laws of the time model: the state is a function of a wall clock that never runs backwards."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise

import zoned
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, Recurrence
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable
from krm_windows.schedule.wallclock import instant, wall
from krm_windows.schedule.zones import zone

MINUTE = timedelta(minutes=1)

# Around a change of the clock, in UTC.
NIGHTS = st.sampled_from(
    [
        ("Europe/Berlin", datetime(2024, 3, 31, 1, tzinfo=UTC)),
        ("Europe/Berlin", datetime(2024, 10, 27, 1, tzinfo=UTC)),
        ("America/Havana", datetime(2024, 11, 3, 5, tzinfo=UTC)),
        ("America/Santiago", datetime(2024, 4, 7, 3, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2024, 4, 6, 15, tzinfo=UTC)),
        ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
        ("Africa/Cairo", datetime(2024, 10, 31, 21, tzinfo=UTC)),
        ("Asia/Beirut", datetime(2024, 3, 30, 22, tzinfo=UTC)),
        ("Atlantic/Azores", datetime(2024, 10, 27, 1, tzinfo=UTC)),
        ("Antarctica/Troll", datetime(2024, 10, 27, 1, tzinfo=UTC)),
    ]
)
TIMES = st.builds(time, st.sampled_from([0, 1, 2, 3, 5, 23]), st.sampled_from([0, 1, 29, 30, 59]))
DAYS = st.frozensets(st.integers(0, 6), min_size=1)
RECURRENCES = st.builds(
    Recurrence,
    minutes=st.frozensets(st.sampled_from([0, 15, 30, 45, 59]), min_size=1, max_size=3),
    hours=st.frozensets(st.integers(0, 23), min_size=1, max_size=3),
    weekdays=DAYS | st.just(frozenset(range(7))),
    days=st.just(EVERY_DAY),
    months=st.just(EVERY_MONTH),
    either=st.just(value=False),
    nth=st.none(),
    shift=st.just(0),
)
LENGTHS = st.timedeltas(min_value=MINUTE, max_value=timedelta(days=2)).map(
    lambda length: length // MINUTE * MINUTE
)
RULES = st.builds(
    Rule,
    st.just(Kind.WINDOW),
    st.sampled_from(["a", "b"]),
    RECURRENCES,
    RECURRENCES | TIMES | LENGTHS,
)
EARLY = st.sampled_from([timedelta(0), timedelta(minutes=30), timedelta(hours=3)])


def _around(night: datetime) -> tuple[datetime, datetime]:
    return night - timedelta(days=3), night + timedelta(days=3)


@st.composite
def timetables(draw: st.DrawFn) -> tuple[Timetable, datetime]:
    """A timetable with rules of every rank, and an instant at which its clock changes."""
    name, night = draw(NIGHTS)
    near = st.integers(-2000, 2000).map(lambda minutes: night + minutes * MINUTE)
    once = st.tuples(near | near.map(lambda moment: moment.replace(tzinfo=None)), LENGTHS)
    freezes = draw(st.lists(once, max_size=1))
    overrides = draw(st.lists(st.tuples(once, st.sampled_from(["Open", "Closed"])), max_size=2))
    timetable = zoned.timetable(
        policy="ns/p",
        time_zone=name,
        outside_windows=draw(st.sampled_from(["Closed", "Open"])),
        windows=tuple(
            rule._replace(key=str(n)) for n, rule in enumerate(draw(st.lists(RULES, max_size=2)))
        ),
        freezes=tuple(Rule(Kind.FREEZE, "f", *moments) for moments in freezes),
        overrides=tuple(
            Rule(Kind.OVERRIDE, f"{n}", *moments, state=state)
            for n, (moments, state) in enumerate(overrides)
        ),
    )
    return timetable, night


def _states(rule: Rule, first: datetime, count: int) -> Iterator[bool]:
    """Walk nominal wall-clock minutes, as a person with a finger on the rule would."""
    assert isinstance(rule.begins, Recurrence)
    ends: datetime | None = None
    on = False
    for minute in (first + number * MINUTE for number in range(count)):
        if isinstance(rule.ends, Recurrence):
            on = on and not _is(rule.ends, minute)
        elif ends is not None and minute >= ends:
            on = False
        if _is(rule.begins, minute):
            on, ends = True, _relative_end(rule.ends, minute)
        yield on


def _is(recurrence: Recurrence, minute: datetime) -> bool:
    return (
        minute.minute in recurrence.minutes
        and minute.hour in recurrence.hours
        and recurrence.on(minute.toordinal())
    )


def _relative_end(end: object, begins: datetime) -> datetime | None:
    if isinstance(end, timedelta):
        return begins + end
    if isinstance(end, time):
        same_day = datetime.combine(begins, end)
        return same_day if same_day > begins else same_day + timedelta(days=1)
    return None


@settings(max_examples=examples(60))
@given(NIGHTS, RULES)
def test_the_state_is_a_function_of_the_wall_clock(night: tuple[str, datetime], rule: Rule) -> None:
    """A walk over nominal minutes, read at W(t), agrees with the evaluator around a change.

    At every minute there.
    """
    name, change = night
    tz = zone(name)
    start, until = change - timedelta(days=1), change + timedelta(days=1)
    first = wall(start, tz) - timedelta(days=9)
    states = list(_states(rule, first, 13 * 1440))
    opened = zoned.timetable(policy="ns/p", time_zone=name, windows=(rule,))
    for segment in timeline(opened, start, until):
        count = (segment.ends - segment.begins) // MINUTE
        walls = (wall(segment.begins + number * MINUTE, tz) for number in range(count))
        assert {states[(reading - first) // MINUTE] for reading in walls} == {segment.open}


@given(timetables(), EARLY)
def test_a_timeline_is_a_partition(given_: tuple[Timetable, datetime], early: timedelta) -> None:
    """Segments cover the interval without gap or overlap, and open and closed take turns."""
    timetable, night = given_
    start, until = _around(night)
    segments = list(timeline(timetable._replace(closes_early=early), start, until))
    assert [segments[0].begins, *(segment.ends for segment in segments)] == [
        *(segment.begins for segment in segments),
        until,
    ]
    assert segments[0].begins == start
    assert all(one.open != other.open for one, other in pairwise(segments))


@settings(max_examples=examples(50))
@given(timetables(), EARLY, st.integers(0, 6 * 1440 - 1))
def test_decision_and_timeline_agree(
    given_: tuple[Timetable, datetime], early: timedelta, minutes: int
) -> None:
    """Half open at every edge; and the decision's own edges are those of the segment it lies in."""
    timetable, night = given_
    timetable = timetable._replace(closes_early=early)
    start, until = _around(night)
    segments = list(timeline(timetable, start, until))
    moment = start + minutes * MINUTE
    for at in (moment, *(segment.begins for segment in segments)):
        (segment,) = (segment for segment in segments if segment.begins <= at < segment.ends)
        decision = decide(timetable, at)
        assert decision.open == segment.open
        assert set(decision.rules) <= set(segment.rules)
        assert segment.begins in {decision.since, start}
        assert segment.ends in {decision.until, until}


@settings(max_examples=examples(50))
@given(timetables(), EARLY, st.integers(0, 6 * 1440 - 1))
def test_closing_early_is_looking_ahead(
    given_: tuple[Timetable, datetime], early: timedelta, minutes: int
) -> None:
    """Open if an override opens, or if all of the time ahead is open.

    As intervals are half open, its end included.
    """
    timetable, night = given_
    at = night - timedelta(days=3) + minutes * MINUTE
    now = decide(timetable, at)
    ahead = [segment.open for segment in timeline(timetable, at, at + early + timedelta.resolution)]
    overridden = any(name.startswith("overrides.") for name in now.rules)
    want = now.open and (overridden or ahead == [True])
    assert decide(timetable._replace(closes_early=early), at).open == want


@given(timetables())
def test_timelines_can_be_cut_anywhere(given_: tuple[Timetable, datetime]) -> None:
    """Where one begins to look does not matter.

    The second half of a timeline is the timeline of the second half.
    """
    timetable, night = given_
    start, until = _around(night)
    whole = [segment for segment in timeline(timetable, start, until) if segment.ends > night]
    edges = [(max(segment.begins, night), segment.ends, segment.open) for segment in whole]
    assert edges == [
        (segment.begins, segment.ends, segment.open)
        for segment in timeline(timetable, night, until)
    ]


@given(NIGHTS, st.integers(-3000, 3000), st.integers(-3000, 3000))
def test_moments_and_instants_are_adjoint(
    night: tuple[str, datetime], instant_at: int, wall_at: int
) -> None:
    """A moment has come exactly when the wall clock shows it or later."""
    name, change = night
    tz = zone(name)
    at, moment = change + instant_at * MINUTE, wall(change, tz) + wall_at * MINUTE
    assert (instant(moment, tz) <= at) == (moment <= wall(at, tz))


@given(RECURRENCES, st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)))
def test_neighbours_of_a_moment(recurrence: Recurrence, moment: datetime) -> None:
    """Nothing recurs between a moment and its neighbours, and each neighbour is the other's."""
    before, after = recurrence.at_or_before(moment), recurrence.after(moment)
    assume(before is not None)
    assert before is not None
    assert after is not None
    assert before <= moment < after
    assert recurrence.after(before) == after
    assert recurrence.at_or_before(after - MINUTE) == before
