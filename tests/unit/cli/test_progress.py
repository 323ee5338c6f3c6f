"""The bar of a long command: on a terminal, after a second, and nothing anywhere else."""

import os
import pty
import subprocess
import sys

import pytest

STEPS = """
import time
from krm_windows.cli.progress import bar
def steps():
    for step in range(8):
        time.sleep({pause})
        yield step
print(list(bar(steps(), 8)))
"""


def shown(pause: float) -> str:
    """Take eight steps at a terminal; return what it showed."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-c", STEPS.format(pause=pause)]
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=terminal, env=environment, check=True
    )
    os.close(terminal)
    assert done.stdout == b"[0, 1, 2, 3, 4, 5, 6, 7]\n"
    text = b""
    try:
        while part := os.read(controller, 4096):
            text += part
    except OSError:  # Linux: the other side is closed
        pass
    os.close(controller)
    return text.decode()


@pytest.mark.parametrize(("pause", "bar"), [(0.3, True), (0.01, False)])
def test_on_a_terminal(pause: float, bar: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """It says how far it is, if it takes long."""
    assert ("clusters" in shown(pause)) == bar


def test_in_a_pipe() -> None:
    """However long it takes."""
    command = [sys.executable, "-c", STEPS.format(pause=0.3)]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""
