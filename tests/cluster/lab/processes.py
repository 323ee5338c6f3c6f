"""Processes of the lab: each has a log and a recorded id, and is ended by that id alone."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lab.settings import LOGS, PIDS, TEMPORARY

Command = Sequence[str | Path]

# Every wait is for a condition, and this is the one limit of all of them: it ends what hangs, and
# says nothing of how fast anything is, so that a busy machine changes no result. How long edges
# take is measured, by `make bench-cluster`.
HANG = 900.0
_QUIET = 8  # load for each processor up to which all tests at once come in time
_SLOWEST = 5
_SIDE_BY_SIDE = 2

# They outlast who started them, and Python complains of a forgotten process that has not ended.
_STARTED: list[subprocess.Popen[bytes]] = []


class LabError(Exception):
    """The lab cannot do what it was asked; the message says what a person can look at."""


def run(*command: str | Path, **options: object) -> str:
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, check=False, **options
    )
    if done.returncode != 0:
        raise LabError(
            f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()[-2000:]}"
        )
    output: str = done.stdout
    return output


def start(
    name: str,
    command: Command,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    PIDS.mkdir(parents=True, exist_ok=True)
    with (LOGS / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            command, stdin=stdin, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
    (PIDS / name).write_text(str(process.pid))
    _STARTED.append(process)


def pace() -> int:
    """Return how many times as long as on a machine of its own a test takes to prepare, 1 to 5.

    What depends on the next minutes is planned with it: when a window opens, and how long it stays
    open. The load says nothing yet when a run begins, so tests that run side by side expect a busy
    machine from the start.
    """
    least = _SIDE_BY_SIDE if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1 else 1
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return min(max(round(load / _QUIET), least), _SLOWEST)


def private() -> dict[str, str]:
    """kubectl and Helm would write into the home; /tmp is the machine's."""
    return {"HOME": str(TEMPORARY), "TMPDIR": str(TEMPORARY)}


def stop(name: str) -> None:
    pid = int((PIDS / name).read_text())
    os.kill(pid, signal.SIGTERM)
    until(f"{name} ended", lambda: not alive(pid))


def alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until something holds; raise `LabError` when nothing comes of it."""
    end = time.monotonic() + HANG
    while not holds():
        if time.monotonic() > end:
            raise LabError(f"not within {HANG:.0f} s: {what} (see {LOGS})")
        time.sleep(0.2)


def answers(*command: str | Path) -> Callable[[], bool]:
    return lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0
