"""How far files have come, by what Git knows on this machine."""

import os
import subprocess
from pathlib import Path

import pytest

from krm_windows.system import git_progress
from krm_windows.system.git_progress import Progress


def git(*arguments: str | Path) -> None:
    """Run Git as somebody."""
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


@pytest.mark.parametrize("shared", [True, False])
def test_each_step_is_told_from_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    """Written, committed, pushed; without a remote nobody knows what is pushed."""
    monkeypatch.chdir(tmp_path)
    file, other = Path("policy.yaml"), Path("windows.yaml")
    file.write_text("a")
    other.write_text("b")
    assert git_progress.of(file) is Progress.UNKNOWN
    git("init", "--quiet", "--initial-branch=main", ".")
    assert git_progress.of(file) is Progress.WRITTEN
    git("add", file)
    git("commit", "--quiet", "--message=First")
    assert git_progress.of(file) is Progress.COMMITTED
    assert git_progress.of(file, other) is Progress.WRITTEN
    if shared:
        git("init", "--quiet", "--bare", "../remote")
        git("remote", "add", "origin", "../remote")
        git("push", "--quiet", "--set-upstream", "origin", "main")
        assert git_progress.of(file) is Progress.PUSHED
    file.write_text("c")
    assert git_progress.of(file) is Progress.WRITTEN
    git("commit", "--quiet", "--all", "--message=Second")
    assert git_progress.of(file) is Progress.COMMITTED
    file.unlink()
    assert git_progress.of(file) is Progress.WRITTEN
