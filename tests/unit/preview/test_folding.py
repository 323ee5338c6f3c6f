"""What recurs every few minutes is one line, and nothing is lost of what does not."""

from datetime import UTC, datetime, timedelta

import pytest

from krm_windows.preview.folding import Run, fold, recurring
from krm_windows.schedule.timeline import Segment

BEGIN = datetime(2026, 12, 14, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def segment(minute: int, length: int = 5, rule: str = "windows.a") -> Segment:
    begins = BEGIN + minute * MINUTE
    return Segment(begins, begins + length * MINUTE, open=True, rules=(rule,))


def expanded(runs: list[Run[Segment]]) -> list[Segment]:
    found = []
    for run in runs:
        for number in range(run.count):
            begins = run.first.begins + number * run.step
            ends = begins + (run.first.ends - run.first.begins)
            found.append(Segment(begins, ends, open=True, rules=run.first.rules))
    return found


ROWS = {
    "a week of ten minutes": ([segment(10 * number) for number in range(1008)], [1008]),
    "five are read at a glance": ([segment(10 * number) for number in range(5)], [1] * 5),
    "another rule": (
        [segment(10 * number, rule=f"windows.{'ab'[number > 5]}") for number in range(12)],
        [6, 6],
    ),
    "another distance": (
        [segment(minute) for minute in (*range(0, 60, 10), *range(70, 200, 20))],
        [6, 7],
    ),
    "once a day": ([segment(1440 * number) for number in range(30)], [1] * 30),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_recurs_is_folded_and_nothing_else(name: str) -> None:
    spans, counts = ROWS[name]
    runs = fold(spans)
    assert [run.count for run in runs] == counts
    assert expanded(runs) == spans
    if counts == [1008]:
        assert recurring(runs[0]) == ", every 10 m, 1,008 times"
    assert [run.last for run in runs if not run.is_folded] == [
        run.first for run in runs if not run.is_folded
    ]
