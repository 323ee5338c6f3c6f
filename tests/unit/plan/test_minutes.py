"""Windows as sets of minutes: what the evaluator says of each of them, and what that costs."""

from datetime import UTC, date, datetime, time, timedelta

import zoned
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from work import steps

from krm_windows.plan import minutes
from krm_windows.plan.edges import edges
from krm_windows.plan.triggers import Wording
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Kind, Rule

SPAN = minutes.Span(date(2025, 1, 1), date(2026, 4, 1))
FIRST, LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)


def some(values: list[int]) -> st.SearchStrategy[frozenset[int]]:
    """Draw a few of some values."""
    return st.frozensets(st.sampled_from(values), min_size=1, max_size=3)


RECURRENCES = st.builds(
    Recurrence,
    some([0, 1, 5, 30, 59]),
    some([0, 1, 8, 23]),
    st.one_of(st.just(EVERY_DAY), some([1, 2, 15, 28, 31])),
    st.one_of(st.just(EVERY_MONTH), some([1, 2, 3, 12])),
    st.one_of(st.just(EVERY_WEEKDAY), some([0, 1, 5])),
    either=st.booleans(),
    nth=st.none(),
    shift=st.just(0),
)
LENGTHS = st.sampled_from([1, 5, 59, 300, 1440, 5000]).map(lambda length: timedelta(minutes=length))
ENDS = st.one_of(
    LENGTHS, st.builds(time, st.sampled_from([0, 1, 8]), st.sampled_from([0, 5])), RECURRENCES
)


@settings(max_examples=examples(50))
@given(st.lists(st.tuples(RECURRENCES, ENDS), min_size=1, max_size=2))
def test_a_minute_is_open_where_the_evaluator_says_so(
    drawn: list[tuple[Recurrence, timedelta | time | Recurrence]],
) -> None:
    """For every way in which a window ends, and where several overlap."""
    rules = tuple(
        Rule(Kind.WINDOW, f"w{number}", begins, ends) for number, (begins, ends) in enumerate(drawn)
    )
    whole = 0
    for rule in rules:
        whole |= SPAN.open(rule)
    held = zoned.timetable(policy="a/b", time_zone="Etc/UTC", windows=rules)
    for segment in timeline(held, FIRST, LAST):
        begins, ends = (
            SPAN.minute(at.date()) + at.hour * 60 + at.minute
            for at in (segment.begins, segment.ends)
        )
        full = (1 << ends - begins) - 1
        assert whole >> begins & full == (full if segment.open else 0)


def test_many_edges_cost_no_more_than_few() -> None:
    """An end in every fifth minute of ten years, beside one a month."""

    def work(past: range, window: timedelta | Recurrence) -> int:
        begins = Recurrence(frozenset(past), months=frozenset({1, 2, 3, 4, 5, 6}))
        held = zoned.timetable(
            policy="a/b", time_zone="Etc/UTC", windows=(Rule(Kind.WINDOW, "a", begins, window),)
        )
        edges(held, Wording())
        return steps(lambda: edges(held, Wording()))

    few = work(range(1), timedelta(minutes=30))
    often = Recurrence(frozenset(range(0, 60, 5)))
    assert work(range(0, 60, 10), timedelta(minutes=5)) < 2 * few
    assert work(range(1), often) < 3 * few
