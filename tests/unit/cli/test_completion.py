"""The scripts for shells: read by the real shells, which complete what is typed at a terminal."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_reads_it(shell: str, tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """Without a word, whatever help has in quotes, backticks, brackets or behind colons."""
    program = tool(shell)
    prepare(shell, tmp_path)
    command = [program, "-c", "source ./script"]
    if shell == "zsh":
        begin = 'autoload -Uz compinit; compinit -u -D; eval "$(cat ./script)"'
        command = [program, "-f", "-c", begin]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def prepare(shell: str, folder: Path) -> None:
    """Put the script of a shell into a directory, and what may be completed."""
    script = [sys.executable, "-m", "krm_windows", "completion", shell]
    with (folder / "script").open("w") as file:
        subprocess.run(script, stdout=file, check=True)
    (folder / "policy.yaml").write_text("")
    (folder / "place-for-plugins").mkdir()
    (folder / "place-taken.yaml").write_text("")
