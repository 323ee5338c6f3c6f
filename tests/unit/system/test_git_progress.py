"""Whether Git has a file as it is here."""

import os
import subprocess
from pathlib import Path

import pytest

from krm_windows.system import git_progress


def git(*arguments: str | Path) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *settings, *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def test_what_is_committed_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("policy.yaml")
    file.write_text("a")
    assert git_progress.is_committed(file) is None
    git("init", "--quiet", ".")
    assert git_progress.is_committed(file) is False
    git("add", file)
    git("commit", "--quiet", "--message=First")
    assert git_progress.is_committed(file) is True
    file.write_text("c")
    assert git_progress.is_committed(file) is False
