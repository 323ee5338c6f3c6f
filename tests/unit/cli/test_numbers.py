"""Numbers that commands take have an end."""

import argparse

import pytest

from krm_windows.cli import builds, import_, times


@pytest.mark.parametrize("text", ["0", "-1", "999999", "1" * 5000, "٣", "1e9", ""])
def test_no_number_is_without_bounds(text: str) -> None:
    """Whatever it is of."""
    for read in (
        builds._builds,
        times.number_of_days,
        import_._years,
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)
