"""How far a command has come: on a terminal, and nothing anywhere else."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from calls import POLICY
from effort import mostly_slow

STEPS = """
import time
from krm_windows.cli import output, streams
from krm_windows.cli.progress import bar, status
def steps():
    for step in range(8):
        time.sleep(0.1)
        yield step
with streams.guarded(), status("check"):
    time.sleep(0.3)
    found = list(bar(steps(), 8))
    time.sleep(0.3)
    output.log("said")
    print(found)
"""


def test_on_a_terminal() -> None:
    """What is being done, then how far it is, and nothing of both once something is said."""
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    command = [sys.executable, "-c", STEPS]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=terminal, env=environment, check=True
    )
    os.close(terminal)
    text = b""
    try:
        while part := os.read(controller, 4096):
            text += part
    except OSError:  # Linux: the other side is closed
        pass
    os.close(controller)
    # What follows the last line that was drawn and taken away: the cursor is shown again.
    drawn, said = text.decode().rsplit("\x1b[?25h", 1)
    assert done.stdout == b"[0, 1, 2, 3, 4, 5, 6, 7]\n"
    assert re.search(r"check.*clusters.*8/8", drawn, re.DOTALL)
    assert said.endswith("krm-windows: said\r\n")
    assert "clusters" not in said
    assert "said" not in drawn


def test_in_a_pipe() -> None:
    """However long it takes."""
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, check=True)
    assert done.stderr == b"krm-windows: said\n"


@pytest.mark.parametrize(
    "call",
    mostly_slow(
        [
            "check - --all-clusters",
            "calendar -",
            "verify - --policy policy.yaml",
            "render - --all-clusters --output-dir out",
            "diff - policy.yaml",
            "--debug explain -",
        ],
        every=3,
    ),
)
def test_commands_say_what_they_do(call: str, tmp_path: Path) -> None:
    """While they read, too: here a policy that takes its time."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "krm_windows", *call.split()]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    ) as running:
        try:
            text = ""
            name = call.removeprefix("--debug ").split()[0]
            while name not in text:
                assert select.select([controller], [], [], 120)[0], text
                text += os.read(controller, 4096).decode()
        finally:
            running.kill()
            os.close(controller)
            os.close(terminal)
