"""How the coverage of a room is counted, and held to its floor."""

from typing import Any

import covered
import pytest


def figures(
    statements: int, branches: int, lines: list[int], jumps: list[list[int]]
) -> dict[str, Any]:
    """Describe a file as coverage's JSON report does."""
    return {
        "summary": {
            "num_statements": statements,
            "num_branches": branches,
            "covered_lines": statements - len(lines),
            "covered_branches": branches - len(jumps),
        },
        "missing_lines": lines,
        "missing_branches": jumps,
    }


FILES = {
    "krm_windows/plan/a.py": figures(90, 20, [4], [[3, 4]]),
    "krm_windows/plan/deep/b.py": figures(40, 10, [], []),
    "krm_windows/rules.py": figures(10, 0, [], []),
}


def test_a_room_is_the_sum_of_its_files() -> None:
    """Lines and branches alike; what lies beside the rooms is one."""
    found = covered.rooms(FILES)
    assert {name: room.percent for name, room in found.items()} == {"plan": 98.7, ".": 100.0}
    assert found["plan"].missed == ["krm_windows/plan/a.py:4", "krm_windows/plan/a.py:3 to 4"]


def test_a_room_below_its_floor_says_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its floor it says nothing."""
    found = covered.rooms(FILES)
    monkeypatch.setattr(covered, "FLOORS", {"plan": 98.7, ".": 100.0})
    assert list(covered.problems(found)) == []
    monkeypatch.setattr(covered, "FLOORS", {"plan": 98.8, ".": 100.0})
    assert list(covered.problems(found)) == [
        "plan: 98.7 %, at least 98.8; no test reaches",
        "  krm_windows/plan/a.py:4",
        "  krm_windows/plan/a.py:3 to 4",
    ]


def test_every_room_has_a_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new room has to get one, and one that is gone loses it."""
    found = covered.rooms(FILES)
    monkeypatch.setattr(covered, "FLOORS", {"plan": 0.0, "gone": 0.0})
    assert [line.partition(":")[0] for line in covered.problems(found)] == [".", "gone"]
