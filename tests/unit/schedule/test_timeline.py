"""The segments of a span of time: where it begins and ends within a day, and nothing beyond."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import zoned

from krm_windows.schedule import timeline
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIRST = datetime(2027, 1, 1, tzinfo=UTC)


def daily(length: timedelta) -> Timetable:
    eight = Recurrence(frozenset({0}), frozenset({8}))
    window = Rule(Kind.WINDOW, "daily", eight, length)
    return zoned.timetable(time_zone="Etc/UTC", windows=(window,))


@pytest.mark.parametrize(
    ("start", "length", "want"),
    [
        (9 * HOUR, 0 * HOUR, []),
        (9 * HOUR, -HOUR, []),
        # The minutes around its edges, and a part of one.
        (8 * HOUR - MINUTE, MINUTE, []),
        (8 * HOUR, MINUTE, [(8 * HOUR, MINUTE)]),
        (8 * HOUR, MINUTE / 2, [(8 * HOUR, MINUTE / 2)]),
        (9 * HOUR - MINUTE, MINUTE, [(9 * HOUR - MINUTE, MINUTE)]),
        (9 * HOUR, MINUTE, []),
        # Two days; and from within one into the next.
        (timedelta(0), 2 * DAY, [(8 * HOUR, HOUR), (DAY + 8 * HOUR, HOUR)]),
        (
            8 * HOUR + MINUTE,
            DAY,
            [(8 * HOUR + MINUTE, HOUR - MINUTE), (DAY + 8 * HOUR, MINUTE)],
        ),
    ],
)
def test_a_span(
    start: timedelta, length: timedelta, want: list[tuple[timedelta, timedelta]]
) -> None:
    begins, until = FIRST + start, FIRST + start + length
    wanted = [(FIRST + at, FIRST + at + open_for) for at, open_for in want]
    policy = daily(HOUR)
    assert list(timeline.openings(policy, begins, until)) == wanted
    segments = list(timeline.timeline(policy, begins, until))
    assert [(each.begins, each.ends) for each in segments if each.open] == wanted
    edges = [each.begins for each in segments] + [until]
    assert [each.ends for each in segments] == edges[1:]
    assert not segments or edges[0] == begins


def test_what_is_always_open_is_one_segment() -> None:
    (segment,) = timeline.timeline(daily(DAY), FIRST, FIRST + 3 * DAY)
    assert segment == timeline.Segment(FIRST, FIRST + 3 * DAY, open=True, rules=("windows.daily",))


def test_rules_are_those_of_the_span() -> None:
    eight, nine = (Recurrence(frozenset({0}), frozenset({hour})) for hour in (8, 9))
    windows = (
        Rule(Kind.WINDOW, "eight", eight, 2 * HOUR),
        Rule(Kind.WINDOW, "nine", nine, 2 * HOUR),
    )
    policy = zoned.timetable(time_zone="Etc/UTC", windows=windows)
    early = timeline.timeline(policy, FIRST + 8 * HOUR, FIRST + 9 * HOUR)
    assert [each.rules for each in early] == [("windows.eight",)]
    both = timeline.timeline(policy, FIRST + 8 * HOUR, FIRST + 11 * HOUR)
    assert [each.rules for each in both] == [("windows.eight", "windows.nine")]
    late = timeline.timeline(policy, FIRST + 10 * HOUR, FIRST + 12 * HOUR)
    assert [each.rules for each in late] == [("windows.nine",), ()]


def test_segments_that_say_the_same_of_other_times_belong_together() -> None:
    first = timeline.Segment(FIRST, FIRST + HOUR, open=True, rules=("daily",))
    later = replace(first, begins=FIRST + DAY, ends=FIRST + DAY + HOUR)
    assert later.grouping_key == first.grouping_key
    assert replace(first, open=False).grouping_key != first.grouping_key
    assert replace(first, rules=("daily", "weekly")).grouping_key != first.grouping_key
