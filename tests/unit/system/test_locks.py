"""Who may write into a directory: one run."""

import signal
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from krm_windows.system import locks
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Folder

HOLDER = """
import sys
from pathlib import Path
from krm_windows.system import locks
with locks.{how}:
    print("has it", flush=True)
    sys.stdin.read()
"""


def holder(how: str) -> subprocess.Popen[bytes]:
    """Start a process that has a lock until its standard input ends."""
    text = HOLDER.format(how=how)
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"has it\n"
    return process


def refused(lock: AbstractContextManager[Directory]) -> str:
    """Return why a lock is refused."""
    with pytest.raises(WorkspaceError) as caught, lock:
        pass
    return str(caught.value)


@pytest.mark.parametrize("ends", [signal.SIGTERM, signal.SIGKILL])
def test_one_run_at_a_time(tmp_path: Path, ends: signal.Signals) -> None:
    """The second says who is first.

    It is free when that one has ended, however that was, and nothing is left.
    """
    with holder(f"alone(Path({str(tmp_path / 'out')!r}))") as first:
        message = refused(locks.alone(tmp_path / "out"))
        assert "another run" in message
        if Path("/proc/locks").read_text():
            assert f"(process {first.pid})" in message
        with pytest.raises(WorkspaceError, match="another run"):
            Folder(tmp_path / "out", frozenset()).write({"a": b""})
        assert list((tmp_path / "out").iterdir()) == []
        first.send_signal(ends)
    with locks.alone(tmp_path / "out") as directory:
        assert directory.entries() == []


def test_a_directory_that_was_not_used_goes(tmp_path: Path) -> None:
    """One that was there stays."""
    with locks.alone(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with locks.alone(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()
