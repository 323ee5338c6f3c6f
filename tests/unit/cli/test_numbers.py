"""Numbers that commands take have an end."""

import argparse
from concurrent.futures import ProcessPoolExecutor

import pytest

from krm_windows.cli import builds, fleet, shards, times, years
from krm_windows.system import processes


@pytest.mark.parametrize("text", ["0", "-1", "999999", "1" * 5000, "٣", "1e9", ""])
def test_no_number_is_without_bounds(text: str) -> None:
    """Whatever it is of."""
    for read in (
        fleet._count,
        builds._builds,
        times.number_of_days,
        years._years,
        shards.parse,
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


@pytest.mark.parametrize("text", ["1/99999999", "1-99999", "2000-2999", "2/1"])
def test_no_range_is_without_bounds(text: str) -> None:
    """Parts of a fleet, and years."""
    for read in (shards.parse, years._years):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


def test_no_more_processes_than_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are asked for."""
    begun = []

    def pool(jobs: int, *others: object) -> ProcessPoolExecutor:
        begun.append(jobs)
        return ProcessPoolExecutor(jobs, *others)

    monkeypatch.setattr(processes, "ProcessPoolExecutor", pool)
    assert list(processes.spread(abs, [-1, -2, -3], 1_000_000)) == [1, 2, 3]
    assert begun == [3]
