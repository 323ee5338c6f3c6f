"""The occurrences of rules are what the evaluator says of them alone, in UTC."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
import zoned
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_windows.gate import bits, coverage
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Kind, Rule
from krm_windows.schedule.occurrences import Occurrences, stretches
from krm_windows.schedule.timeline import openings

MINUTE = timedelta(minutes=1)
FIRST = datetime(2027, 1, 1, tzinfo=UTC)


def some(low: int, high: int) -> st.SearchStrategy[frozenset[int]]:
    """Draw a few numbers, or all of them."""
    return st.just(frozenset(range(low, high + 1))) | st.frozensets(
        st.integers(low, high), min_size=1, max_size=4
    )


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrence:
    """Draw a recurrence, now and then one that is there in every minute."""
    times, weekdays = (draw(some(0, 59)), draw(some(0, 23))), draw(some(0, 6))
    if draw(st.booleans()):
        nth, shift = draw(st.sampled_from((1, 2, 5, -1, -3))), draw(st.integers(0, 27))
        return Recurrence(*times, weekdays=weekdays, nth=nth, shift=shift)
    return Recurrence(
        *times,
        days=draw(some(1, 31)),
        months=draw(some(1, 12)),
        weekdays=weekdays,
        either=draw(st.booleans()),
    )


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a window that recurs, or comes once."""
    spans = st.integers(1, 3 * 1440).map(lambda minutes: minutes * MINUTE) | st.just(
        timedelta(days=400)
    )
    clocks = st.builds(time, st.integers(0, 23), st.integers(0, 59))
    if draw(st.booleans()):
        return Rule(Kind.WINDOW, "w", draw(recurrences()), draw(recurrences() | spans | clocks))
    begins = datetime(2026, 6, 1) + draw(st.integers(0, 2 * 365 * 1440)) * MINUTE
    return Rule(
        Kind.WINDOW, "w", begins, draw(spans | clocks | spans.map(lambda span: begins + span))
    )


@pytest.mark.parametrize(
    ("begins", "length"), [(22 * 60, 120), (0, 120), (0, 1440), (22 * 60, 1440 + 120)]
)
def test_an_occurrence_from_or_to_midnight(begins: int, length: int) -> None:
    """It does not reach into a day on which nothing is covered."""
    begin = FIRST + begins * MINUTE
    window = Rule(Kind.WINDOW, "w", begin.replace(tzinfo=None), length * MINUTE)
    found = Occurrences.of([window], FIRST - timedelta(days=3), FIRST + timedelta(days=5))
    want = (coverage.minute(begin), coverage.minute(begin) + length)
    assert list(found) == [want]
    assert found.around(want[0]) == found.around(want[1] - 1) == want


@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(rules(), min_size=1, max_size=4), st.integers(0, 2000), st.integers(1, 400 * 1440))
def test_occurrences_are_those_of_the_evaluator(
    every: list[Rule], begins: int, length: int
) -> None:
    """All of them, joined where they overlap or touch.

    The one around a minute is that to which it belongs.
    """
    first = FIRST + begins * MINUTE
    until = first + length * MINUTE
    alone = zoned.timetable(time_zone="Etc/UTC", windows=tuple(every))
    wanted = [
        (coverage.minute(begin), coverage.minute(end))
        for begin, end in openings(alone, first, until)
    ]
    found = Occurrences.of(every, first, until)
    assert list(found) == wanted
    for begin, end in wanted[:50]:
        assert {found.around(minute) for minute in (begin, end - 1, (begin + end) // 2)} == {
            (begin, end)
        }


@given(
    st.lists(st.booleans(), min_size=1440, max_size=1440)
    | st.just([True] * 1440)
    | st.just([False] * 1440)
)
def test_stretches_are_the_runs_of_a_day(covered: list[bool]) -> None:
    """From each minute that begins one to before the first that does not belong to it."""
    around = [False, *covered, False]
    begins = [n for n in range(1440) if covered[n] and not around[n]]
    ends = [n + 1 for n in range(1440) if covered[n] and not around[n + 2]]
    assert stretches(bits.of(n for n in range(1440) if covered[n])) == tuple(
        zip(begins, ends, strict=True)
    )


def test_what_began_years_ago_is_there() -> None:
    """A leap day's window that lasts until the next one."""
    leap = Recurrence(frozenset({0}), frozenset({0}), days=frozenset({29}), months=frozenset({2}))
    found = Occurrences.of([Rule(Kind.WINDOW, "w", leap, leap)], FIRST, FIRST + timedelta(days=1))
    day = date(2027, 1, 1).toordinal()
    assert list(found) == [(day * bits.DAY, (day + 1) * bits.DAY)]


@pytest.mark.parametrize("gap", [0, 1, 2])
def test_an_occurrence_at_midnight(gap: int) -> None:
    """It goes on over midnight only where the last minute before it is covered."""
    first = bits.FULL ^ bits.below(600)
    before = first & bits.below(bits.DAY - gap)
    found = Occurrences({7: before, 8: bits.below(60), 9: 1})
    midnight = 8 * bits.DAY
    begins = midnight if gap else midnight - bits.DAY + 600
    assert found.around(midnight) == found.around(midnight + 59) == (begins, midnight + 60)
    ends = midnight - gap if gap else midnight + 60
    assert found.around(midnight - gap - 1) == (midnight - bits.DAY + 600, ends)
