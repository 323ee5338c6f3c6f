"""Spans of time that commands about the past are asked for."""

from datetime import timedelta

import pytest

from krm_windows.cli import periods


@pytest.mark.parametrize(("span", "days"), [("90d", 90), ("12w", 84), ("1y", 365)])
def test_a_span_before_an_end(span: str, days: int) -> None:
    """In whole days, whatever the calendar is like."""
    assert periods.since(span) == timedelta(days=days)
