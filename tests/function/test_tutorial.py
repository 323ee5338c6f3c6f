"""The steps of the tutorial that need no cluster; tests/cluster runs all of them in one."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from shown import commands, renewed, run
from tutorial import PAGE, runnable, without

# What asks a cluster, or waits for the clock.
ELSEWHERE = ("kubectl", " --wait ", "krm-windows status", "krm-windows pending")


@pytest.mark.slow  # a dozen programs
def test_the_steps_that_need_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], Path]
) -> None:
    bare = tmp_path / "repository.git"
    subprocess.run([tool("git"), "init", "--quiet", "--bare", bare], check=True)
    monkeypatch.setenv("REPOSITORY", str(bare))
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
    text = without(runnable(PAGE.read_text()), ELSEWHERE)
    assert len(commands(text)) > 15
    (tmp_path / "reader").mkdir()
    assert renewed(text, run(text, tmp_path / "reader")) == text
