"""Spans of time that commands about the past are asked for."""

from datetime import datetime

import pytest

from krm_windows.cli import periods


@pytest.mark.parametrize(
    ("end", "span", "begins"),
    [
        ("2026-11-23", "1y", "2025-11-23"),
        ("2024-02-29", "1y", "2023-02-28"),
        ("2024-02-29", "4y", "2020-02-29"),
        # 2100 is divided by four, and no leap year.
        ("2104-02-29", "4y", "2100-02-28"),
        ("2024-03-01", "1d", "2024-02-29"),
    ],
)
def test_a_span_before_an_end(end: str, span: str, begins: str) -> None:
    """By the calendar; a year before 29 February is 28 February."""
    found = periods.since(span)
    assert isinstance(found, periods.Back)
    at = datetime.fromisoformat(f"{end}T06:00+00:00")
    assert found.before(at) == datetime.fromisoformat(f"{begins}T06:00+00:00")
