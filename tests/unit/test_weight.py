"""What `make check` says about the weight of rooms, and what `make weight` writes."""

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from checks import weight

TABLE = '[project]\nname = "p"\n\n[tool.weight]\nemit = 300\nkrm = 200\nold = 100\n'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('def f():\n    """What it does."""\n    return 1\n', "def f(): return 1\n"),
        ("x = [1,\n     2]\n", "x = [1, 2]  # why\n"),
        ('class A:\n    """Only that."""\n', "class A:\n    pass\n"),
    ],
)
def test_what_is_said_and_how_it_is_folded_weighs_nothing(one: str, other: str) -> None:
    """Docstrings, comments and lines."""
    assert weight.nodes(one) == weight.nodes(other)


def test_rows_are_lowered_and_never_raised() -> None:
    """A room that is gone loses its row; the rest of the file stays."""
    expected = TABLE.replace("krm = 200", "krm = 100").replace("old = 100\n", "")
    assert weight.lowered(TABLE, Counter(emit=350, krm=77)) == expected


@pytest.fixture
def repository(
    tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, str, str], Sequence[str]]:
    """Commit a row and a room's source; return what the check says then."""
    monkeypatch.setattr(weight, "ROOT", tmp_path)
    (tmp_path / "krm_windows").mkdir()

    def git(*arguments: str) -> None:
        person = ["-c", "user.name=p", "-c", "user.email=p@example.com"]
        subprocess.run([tool("git"), *person, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")

    def commit(allowed: int, source: str, message: str) -> Sequence[str]:
        (tmp_path / "pyproject.toml").write_text(f"[tool.weight]\nemit = {allowed}\n")
        (tmp_path / "krm_windows/emit.py").write_text(source)
        git("add", ".")
        git("commit", "--quiet", "--message", message)
        return list(weight.problems())

    return commit


def test_a_heavier_room_needs_a_word(
    repository: Callable[[int, str, str], Sequence[str]],
) -> None:
    """The commit that raises a row says why; one that lowers it need not."""
    assert repository(100, "x = 1\n", "Begin") == []
    [said] = repository(100, "x = 1\n" * 50, "Add")
    assert "emit weighs" in said
    assert "Weight: emit: " in said
    assert repository(200, "x = 1\n" * 50, "Add more\n\nWeight: emit: it reads more.") == []
    [silent] = repository(300, "x = 1\n" * 80, "Add without a word")
    assert "raises emit to 300" in silent


def test_a_lighter_room_has_its_row_lowered(
    repository: Callable[[int, str, str], Sequence[str]],
) -> None:
    """By a command that is named."""
    [said] = repository(500, "x = 1\n", "Begin")
    assert "`make weight`" in said
