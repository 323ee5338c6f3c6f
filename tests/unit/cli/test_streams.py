"""Streams that are closed, full, or read by somebody who has seen enough."""

import subprocess
import sys
from pathlib import Path

import pytest
from calls import APPS, POLICY, wire
from effort import rows_mostly_slow

EMPTY = "[error] the input is empty; expected a ResourceList (input-unreadable)\n"
FULL = "krm-windows: cannot write the output: No space left on device\n"
NO_DIRECTORY = (
    "krm-windows: /proc/x: cannot be written: No such file or directory; free some space there, or "
    "name another directory\n"
)
CASES = [
    ("self <&-", 1, EMPTY),
    ("self < list.yaml >&-", 0, ""),
    ("self < list.yaml 2>&- >/dev/null", 0, ""),
    ("self < wrong.yaml 2>&- >/dev/null", 3, ""),
    ("self < list.yaml >/dev/full", 1, FULL),
    ("self schema >/dev/full", 1, FULL),
    ("self install --plugin-home /proc/x", 1, NO_DIRECTORY),
    ("self < list.yaml | head -1", 0, ""),
    ("self schema | head -1", 0, ""),
]


@pytest.mark.parametrize(("command", "code", "said"), rows_mostly_slow(CASES, every=4))
def test_it_ends_with_a_code_and_at_most_a_line(
    tmp_path: Path, command: str, code: int, said: str
) -> None:
    (tmp_path / "list.yaml").write_text(wire(APPS))
    (tmp_path / "wrong.yaml").write_text(wire(APPS, config=""))
    (tmp_path / "policy.yaml").write_text(POLICY)
    done = bash(tmp_path, command)
    assert (done.returncode, done.stderr) == (code, said)


def bash(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    call = ["bash", "-c", command.replace("self", f"{sys.executable} -m krm_windows")]
    return subprocess.run(call, cwd=place, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_is_said_on_standard_output(tmp_path: Path) -> None:
    """Where standard error is closed a message has no place: least of all among the items."""
    (tmp_path / "wrong.yaml").write_text(wire(APPS, config=""))
    done = bash(tmp_path, "self < wrong.yaml 2>&-")
    assert done.stdout.startswith(wire(APPS, config=""))
    assert "[error]" not in done.stdout
