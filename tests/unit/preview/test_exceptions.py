"""Freezes and overrides in time: where they begin, and where they end that have no end."""

from datetime import UTC, datetime, timedelta

import zoned

from krm_windows.preview import exceptions
from krm_windows.schedule.timetable import Kind, Rule

BEGINS = datetime(2026, 12, 21, tzinfo=UTC)
WEEK = timedelta(days=7)


def test_what_lasts_for_years_ends_a_year_beyond() -> None:
    """On either side, so that a calendar program has an edge to show."""
    ever = Rule(Kind.OVERRIDE, "shut", None, datetime(2040, 1, 1, tzinfo=UTC), "Sold", "Closed")
    table = zoned.timetable("flux-system/week", "Europe/Berlin", overrides=(ever,))
    [found] = exceptions.spans(table, BEGINS, BEGINS + WEEK)
    far = timedelta(days=400)
    assert (found.begins, found.ends) == (BEGINS - far, BEGINS + WEEK + far)
    assert found.kind == "override-closed"
    # What begins where the days end is not among them.
    begins = BEGINS + WEEK
    freeze = Rule(Kind.FREEZE, "later", begins, begins + WEEK, "Books")
    assert not exceptions.spans(table._replace(overrides=(), freezes=(freeze,)), BEGINS, begins)
