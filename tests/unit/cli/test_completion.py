"""The scripts for shells, read by the real shells."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_reads_it(shell: str, tmp_path: Path, tool: Callable[[str], Path]) -> None:
    program = tool(shell)
    script = [sys.executable, "-m", "krm_windows", "completion", shell]
    with (tmp_path / "script").open("w") as file:
        subprocess.run(script, stdout=file, check=True)
    command = [program, "-c", "source ./script"]
    if shell == "zsh":
        begin = 'autoload -Uz compinit; compinit -u -D; eval "$(cat ./script)"'
        command = [program, "-f", "-c", begin]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
