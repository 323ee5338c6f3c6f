"""What a rule's type allows and no policy has: refused where it would go wrong silently."""

from datetime import datetime, timedelta

import pytest
import zoned

from krm_windows.plan import triggers
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule

ONCE = datetime(2027, 1, 1, 8)
DAILY = Recurrence(frozenset({0}), frozenset({8}))


def test_a_recurring_window_that_ends_once_has_no_closing_schedule() -> None:
    """Nothing is emitted that would never close it."""
    table = zoned.timetable(
        policy="p/q",
        time_zone="Europe/Berlin",
        windows=(Rule(Kind.WINDOW, "w", DAILY, ONCE),),
    )
    with pytest.raises(TypeError, match="no end of type datetime"):
        triggers.triggers(table, triggers.Wording(), timedelta(minutes=10))
