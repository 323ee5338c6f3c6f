"""What comes with the same key, and what a rule's type allows and no policy has."""

from datetime import datetime, timedelta

import pytest
import zoned

from krm_windows.plan import triggers
from krm_windows.plan.grouping import grouped
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule


def test_values_of_a_key_are_put_together() -> None:
    pairs = [("b", 1), ("a", 2), ("b", 3), ("b", 1)]
    assert list(grouped(pairs).items()) == [("b", {1, 3}), ("a", {2})]
    assert grouped([]) == {}


def test_a_recurring_window_that_ends_once_has_no_closing_schedule() -> None:
    window = Rule(Kind.WINDOW, "w", Recurrence(), datetime(2027, 1, 1, 8))
    with pytest.raises(TypeError, match="no end of type datetime"):
        triggers.triggers(
            zoned.timetable(windows=(window,)), triggers.Wording(), timedelta(minutes=10)
        )
