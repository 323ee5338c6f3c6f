"""What `make mutants` changes, and what it leaves."""

import ast
from pathlib import Path

import pytest
from mutants import EXPLAINED, TARGETS, mutants, stale

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("code", "want"),
    [
        ("a < b", {"(a <= b)"}),
        ("a >= b", {"(a > b)"}),
        ("a == b", {"(a != b)"}),
        ("a is None", {"(a is not None)"}),
        ("a not in b", {"(a in b)"}),
        ("a and b", {"(a or b)"}),
        ("not a", {"(a)"}),
        ("a + 1", {"(a - 1)", "(2)", "(0)"}),
        ("True", {"(False)"}),
        ("'text'", set()),
        ("zip(a, strict=True)", set()),
        ("f'{a:02}'", set()),
        ("x: 'list[0]' = y", set()),
    ],
)
def test_what_is_changed(code: str, want: set[str], tmp_path: Path) -> None:
    """One operator or number each time; texts and annotations are left alone."""
    place = tmp_path / "code.py"
    place.write_text(f"é = 'ü'\n{code}\n")
    found = list(mutants(place))
    assert {mutant.new for mutant in found} == want
    text = place.read_bytes()
    for mutant in found:
        changed = mutant.applied(text).decode()
        assert changed.startswith("é = 'ü'\n")
        assert changed == text.decode().replace(mutant.old, mutant.new)
        ast.parse(changed)


def test_a_function_returns_nothing(tmp_path: Path) -> None:
    """Only where it returned something that is no constant."""
    place = tmp_path / "code.py"
    place.write_text("def f(a):\n    if a:\n        return a\n    return None\n")
    [mutant] = mutants(place)
    assert mutant.applied(place.read_bytes()).decode().count("return None") == 2


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_there(target: str) -> None:
    """With the tests that are to notice."""
    assert (ROOT / "krm_windows" / target).exists()
    assert list((ROOT / TARGETS[target]).glob("test_*.py"))


def test_every_reason_is_for_a_mutant_that_there_is() -> None:
    """A reason whose code has changed is named, so that it is removed."""
    assert stale(EXPLAINED) == []
    gone = "gate/gone.py: a = 1: 1 -> (2)"
    assert stale([*EXPLAINED, gone]) == [gone]
