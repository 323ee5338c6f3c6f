"""What a terminal shows while a command is at work."""

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

from calls import POLICY

STEPS = """
import time
from krm_windows.cli import output, streams
with streams.guarded(), output.status("check"):
    time.sleep(0.3)
    output.log("said")
"""


def test_on_a_terminal() -> None:
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", STEPS], stderr=terminal, env=environment, check=True)
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
    assert "check" in drawn
    assert said.endswith("krm-windows: said\r\n")
    assert "said" not in drawn


def test_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, check=True)
    assert done.stderr == b"krm-windows: said\n"


def test_a_command_says_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(POLICY)
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "krm_windows", "diff", "-", str(tmp_path / "policy.yaml")]
    environment, pipe = {**os.environ, "TERM": "xterm"}, subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=terminal, env=environment
    ) as running:
        try:
            text = ""
            while "diff" not in text:
                assert select.select([controller], [], [], 120)[0], text
                text += os.read(controller, 4096).decode()
        finally:
            running.kill()
            os.close(controller)
            os.close(terminal)
