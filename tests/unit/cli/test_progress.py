"""The bar of a long command: on a terminal, after a second, and nothing anywhere else."""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest
from calls import POLICY

STEPS = """
import time
from krm_windows.cli.progress import bar
def steps():
    for step in range(8):
        time.sleep({pause})
        yield step
print(list(bar(steps(), 8)))
"""


WAITING = """
import sys, time
from krm_windows.cli import output, streams
from krm_windows.cli.progress import bar, waiting
with streams.guarded(), waiting("reading policies"):
    end = time.monotonic() + {pause}
    while time.monotonic() < end:
        pass
    output.log("said")
    print(list(bar(range(8), 8)))
"""


def shown(pause: float, script: str = STEPS) -> str:
    """Take eight steps at a terminal; return what it showed."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-c", script.format(pause=pause)]
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


def test_a_line_says_what_is_done_before_there_is_a_bar() -> None:
    """And for how long; it goes before anything else is printed."""
    text = shown(2.5, WAITING)
    line = r"\rreading policies: [1-9] s\x1b\[K"
    assert re.fullmatch(rf"({line}){{2,}}\r\x1b\[Kkrm-windows: said\r\n", text)


def test_no_line_within_a_second() -> None:
    """Nor anything that would take one away."""
    assert shown(0.1, WAITING) == "krm-windows: said\r\n"


def test_no_line_in_a_pipe() -> None:
    """However long it takes."""
    command = [sys.executable, "-c", WAITING.format(pause=1.5)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b"krm-windows: said\n"


BEHIND = """
import time
from krm_windows.cli import output, streams
from krm_windows.cli.progress import bar, waiting
def steps():
    for number in range(8):
        time.sleep({pause})
        yield number
with streams.guarded(), waiting("check", until_said=True):
    found = list(bar(steps(), 8))
    time.sleep(1.3)
    print(found)
"""


def test_a_line_comes_back_behind_a_bar() -> None:
    """The bar says how far the builds are, and what follows them takes long, too."""
    assert re.search(r"\rcheck: [1-9] s\x1b\[K\r\x1b\[K$", shown(0.3, BEHIND))


@pytest.mark.parametrize(
    "call",
    [
        "check - --all-clusters",
        "calendar -",
        "render - --all-clusters --output-dir out",
        "verify - --policy policy.yaml",
        "diff - policy.yaml",
        "--debug explain -",
    ],
)
def test_commands_say_what_they_do(call: str, tmp_path: Path) -> None:
    """From their first second on, while they read, too: here for a policy that takes its time."""
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
            text = b""
            while b" s\x1b[K" not in text:
                assert select.select([controller], [], [], 30)[0], text
                text += os.read(controller, 4096)
            assert re.match(rb"\r[a-z][a-z -]*[a-z]: [1-9]\d* s\x1b\[K", text)
        finally:
            running.kill()
            os.close(controller)
            os.close(terminal)
