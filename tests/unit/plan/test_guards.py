"""What a rule's type allows and no policy has: refused where it would go wrong silently."""

from datetime import date, datetime, time, timedelta

import pytest
import zoned

from krm_windows.plan import minutes, triggers, union
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule

ONCE = datetime(2027, 1, 1, 8)
DAILY = Recurrence(frozenset({0}), frozenset({8}))
SPAN = minutes.Span(date(2027, 1, 1), date(2027, 2, 1))


def test_a_window_that_is_open_once_has_no_minutes_of_every_day() -> None:
    """Neither where it begins once nor where it ends once."""
    with pytest.raises(TypeError, match="w"):
        SPAN.open(Rule(Kind.WINDOW, "w", ONCE, time(9)))
    with pytest.raises(TypeError, match="w"):
        SPAN.open(Rule(Kind.WINDOW, "w", DAILY, ONCE))


@pytest.mark.parametrize("shift", [0, 1])
def test_days_that_no_schedule_says_are_not_given_by_fields(shift: int) -> None:
    """An nth day of a month, or a day that is moved."""
    nth = None if shift else 2
    found = Recurrence(
        frozenset({0}), frozenset({8}), weekdays=frozenset({1}), nth=nth, shift=shift
    )
    with pytest.raises(ValueError, match="Recurrence"):
        SPAN.fires(found)


def test_a_dated_window_has_no_weekly_occurrences() -> None:
    """The union of windows is of those that recur."""
    assert list(union.occurrences(Rule(Kind.WINDOW, "w", ONCE, time(9)))) == []


def test_a_recurring_window_that_ends_once_has_no_closing_schedule() -> None:
    """Nothing is emitted that would never close it."""
    table = zoned.timetable(
        policy="p/q",
        time_zone="Europe/Berlin",
        windows=(Rule(Kind.WINDOW, "w", DAILY, ONCE),),
    )
    with pytest.raises(TypeError, match="no end of type datetime"):
        triggers.triggers(table, triggers.Wording(), timedelta(minutes=10))
