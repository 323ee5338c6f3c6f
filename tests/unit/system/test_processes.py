"""Work shared among processes."""

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.processes import spread
def work(item):
    {work}
try:
    print(list(spread(work, range({items}), {jobs})))
except (WorkspaceError, KeyError) as error:
    print(type(error).__name__, error)
"""


def program(work: str, *, items: int = 7, jobs: int = 3) -> list[str | Path]:
    """Return a program that shares some work and prints what comes of it."""
    text = PROGRAM.format(work=textwrap.dedent(work), items=items, jobs=jobs)
    return [sys.executable, "-c", text]


def printed(work: str, **numbers: int) -> str:
    """Run such a program and return what it prints."""
    return subprocess.run(
        program(work, **numbers), capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()


@pytest.mark.parametrize("jobs", [1, 2, 3, 50])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    """Whoever is done first."""
    assert (
        printed("time.sleep((7 - item) / 100); return item", jobs=jobs) == "[0, 1, 2, 3, 4, 5, 6]"
    )


def test_the_work_is_done_by_several() -> None:
    """As many processes as were asked for, and not this one."""
    work = "time.sleep(0.3); return os.getpid()"
    assert len(set(json.loads(printed(work, items=6, jobs=3)))) == 3


def test_what_the_work_raises_is_raised() -> None:
    """As if it had been done here."""
    assert printed("return {}[item]") == "KeyError 0"


def test_a_process_that_is_killed_is_reported() -> None:
    """Nobody waits for it."""
    assert "run this again" in printed(
        "item == 4 and os.kill(os.getpid(), signal.SIGKILL); return item"
    )


def test_children_end_with_their_parent(tmp_path: Path) -> None:
    """Killed, it leaves nobody who goes on writing."""
    work = f"time.sleep(0.05); (Path({str(tmp_path)!r}) / str(os.getpid())).touch(); return item"
    parent = subprocess.Popen(program(work, items=2000, jobs=3))
    while len(list(tmp_path.iterdir())) < 3:
        time.sleep(0.01)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    ends = time.monotonic() + 30
    children = [int(path.name) for path in tmp_path.iterdir()]
    while any(map(runs, children)) and time.monotonic() < ends:
        time.sleep(0.02)
    assert not any(map(runs, children))


def runs(process: int) -> bool:
    """Whether a process is there, and no zombie that nobody waits for."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
