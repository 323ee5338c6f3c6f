"""Large inputs: work that grows with them, and the memory of docs/reference/limits.md."""

import subprocess
import sys
from pathlib import Path

import pytest
from calls import APPS, POLICY, call, wire
from work import calls

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


def around(items: bytes) -> bytes:
    """Return a ResourceList with a target, these items and a policy."""
    head, mark, tail = wire(APPS).encode().partition(b"functionConfig:")
    return head + items + mark + tail


def secrets(number: int) -> bytes:
    """Return so many small items that are none of ours."""
    return b"".join(
        b"- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: s%d\n" % i for i in range(number)
    )


def windows(number: int) -> str:
    """Return a policy with so many windows."""
    return POLICY + "".join(
        f"    w{i}:\n      opens: Mon {i // 60 % 24:02}:{i % 60:02}\n      duration: 10m\n"
        for i in range(number)
    )


@pytest.mark.slow  # 100 MB
def test_a_scalar_of_100_megabytes(tmp_path: Path) -> None:
    """It is passed on, byte for byte, within the memory that is stated."""
    data = around(b"- kind: Secret\n  data: " + b"x" * (100 * MEGABYTE) + b"\n")
    (tmp_path / "in").write_bytes(data)
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        command = [sys.executable, "-c", MEASURED, sys.executable, "-m", "krm_windows"]
        done = subprocess.run(
            command, stdin=given, stdout=taken, stderr=subprocess.PIPE, check=True
        )
    assert int(done.stderr) * 1024 < MOST * MEGABYTE
    assert b"x" * (100 * MEGABYTE) in (tmp_path / "out").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("small", "large"),
    [
        (around(secrets(1000)), around(secrets(2000))),
        (wire(APPS, config=windows(60)).encode(), wire(APPS, config=windows(120)).encode()),
    ],
    ids=["items", "windows"],
)
def test_work_grows_with_the_input(small: bytes, large: bytes) -> None:
    """Twice as many items or windows are about twice the work."""
    call(large)
    one, two = (calls(lambda data=data: call(data)) for data in (small, large))
    assert two < 2.3 * one
