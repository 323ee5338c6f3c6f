"""Streams that are closed, full, or read by somebody who has seen enough."""

import subprocess
import sys
from pathlib import Path

import pytest
from calls import APPS, POLICY, wire
from effort import mostly_slow

SELF = f"{sys.executable} -m krm_windows"
NO_DIRECTORY = (
    "krm-windows: /proc/x: cannot be written: No such file or directory; free some space there, or "
    "name another directory\n"
)
FULL = "krm-windows: cannot write the output: No space left on device\n"


CASES = [
    (
        f"{SELF} <&-",
        1,
        "[error] the input is empty; expected a ResourceList (input-unreadable)\n",
    ),
    (f"{SELF} < list.yaml >&-", 0, ""),
    (f"{SELF} < list.yaml 2>&- >/dev/null", 0, ""),
    (f"{SELF} < wrong.yaml 2>&- >/dev/null", 3, ""),
    (f"{SELF} < list.yaml >/dev/full", 1, FULL),
    (f"{SELF} schema >/dev/full", 1, FULL),
    (
        f"{SELF} install --plugin-home /proc/x",
        1,
        NO_DIRECTORY,
    ),
    (f"{SELF} calendar policy.yaml --from 2026-11-23 >/dev/full", 1, FULL),
    (f"{SELF} < list.yaml | head -1", 0, ""),
    (f"{SELF} schema | head -1", 0, ""),
]


@pytest.mark.parametrize("case", mostly_slow(CASES, every=4))
def test_streams(tmp_path: Path, case: tuple[str, int, str]) -> None:
    """It ends with a code and at most a line, never with a traceback."""
    command, code, said = case
    (tmp_path / "list.yaml").write_text(wire(APPS))
    (tmp_path / "wrong.yaml").write_text(wire(APPS, config=""))
    (tmp_path / "policy.yaml").write_text(POLICY)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (code, said)


def test_nothing_is_said_on_standard_output(tmp_path: Path) -> None:
    """Where standard error is closed a message has no place: least of all among the items."""
    (tmp_path / "wrong.yaml").write_text(wire(APPS, config=""))
    command = ["bash", "-c", f"{SELF} < wrong.yaml 2>&-"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.startswith(wire(APPS, config=""))
    assert "[error]" not in done.stdout
