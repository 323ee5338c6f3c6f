"""Numbers and spans of time that commands take."""

import argparse
from datetime import timedelta

import pytest

from krm_windows.cli import builds, import_, periods, times


@pytest.mark.parametrize("text", ["0", "-1", "999999", "1" * 5000, "٣", "1e9", ""])
def test_no_number_is_without_bounds(text: str) -> None:
    for read in (builds._builds, times.number_of_days, import_._years):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


@pytest.mark.parametrize(("span", "days"), [("90d", 90), ("12w", 84), ("1y", 365)])
def test_a_span_before_an_end(span: str, days: int) -> None:
    assert periods.since(span) == timedelta(days=days)
