"""Whether Git has files as they are here."""

import os
import subprocess
from pathlib import Path

import pytest

from krm_windows.system import git_progress


def git(*arguments: str | Path) -> None:
    """Run Git as somebody."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def test_what_is_committed_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files as they are, in the newest commit; a file that is gone has to be gone there."""
    monkeypatch.chdir(tmp_path)
    folder = Path("windows")
    file, other = Path("policy.yaml"), folder / "job.yaml"
    folder.mkdir()
    file.write_text("a")
    other.write_text("b")
    assert git_progress.is_committed(file) is None
    assert git_progress.listed(folder) == []
    git("init", "--quiet", ".")
    assert git_progress.is_committed(file) is False
    git("add", file)
    git("commit", "--quiet", "--message=First")
    assert git_progress.is_committed(file) is True
    assert git_progress.is_committed(file, other) is False
    git("add", ".")
    git("commit", "--quiet", "--message=Second")
    assert git_progress.is_committed(file, other) is True
    assert git_progress.listed(folder) == [tmp_path / other]
    assert git_progress.listed(Path()) == [tmp_path / file, tmp_path / other]
    file.write_text("c")
    assert git_progress.is_committed(file, other) is False
    other.unlink()
    assert git_progress.is_committed(other) is False
    git("commit", "--quiet", "--all", "--message=Third")
    assert git_progress.is_committed(file, other) is True
