"""The memory of docs/reference/limits.md."""

import subprocess
import sys
from pathlib import Path

import pytest
from calls import APPS, wire

MEGABYTE = 1000 * 1000
# About three times the input, and 60 MB; with room for other versions of Python.
MOST = 4 * 100 + 100

# A small process starts the program: the peak of one counts what the process was that started it,
# and that of the tests has grown.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


@pytest.mark.slow  # 100 MB
def test_a_scalar_of_100_megabytes(tmp_path: Path) -> None:
    data = wire(APPS, f"kind: Secret\ndata: {'x' * (100 * MEGABYTE)}\n").encode()
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "krm_windows"]
        done = subprocess.run(
            command, stdin=given, stdout=taken, stderr=subprocess.PIPE, check=True
        )
    assert int(done.stderr) * 1024 < MOST * MEGABYTE
    assert b"x" * (100 * MEGABYTE) in (tmp_path / "out").read_bytes()
