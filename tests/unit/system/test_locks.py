"""Who may write into a directory: one run, or the parts of a fleet, each once."""

import os
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


def test_parts_work_side_by_side(tmp_path: Path) -> None:
    """Each part once, all of one number of parts, in other processes too.

    None beside a run that has the whole.
    """
    with (
        locks.part(tmp_path, 0, 3),
        holder(f"part(Path({str(tmp_path)!r}), 1, 3)") as other,
        locks.part(tmp_path, 2, 3),
    ):
        assert "shard 1 of 3" in refused(locks.part(tmp_path, 0, 3))
        assert "shard 2 of 3" in refused(locks.part(tmp_path, 1, 3))
        assert " of 3 of it" in refused(locks.part(tmp_path, 3, 4))
        assert "another run" in refused(locks.alone(tmp_path))
        assert "another run" in refused(locks.part(tmp_path, 0, 1))
        assert other.stdin is not None
        other.stdin.close()
        other.wait()
        with locks.part(tmp_path, 1, 3):
            pass
    assert list(tmp_path.iterdir()) == []
    with locks.alone(tmp_path):
        assert "another run" in refused(locks.part(tmp_path, 0, 3))
    with locks.part(tmp_path, 3, 4):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("next_run", ["the same", "of another number", "of the whole"])
def test_a_part_that_was_killed_is_no_obstacle(tmp_path: Path, next_run: str) -> None:
    """Its file is there, its lock is not; the next run removes it."""
    with holder(f"part(Path({str(tmp_path)!r}), 1, 3)") as first:
        first.kill()
    assert len(list(tmp_path.iterdir())) == 1
    runs = {"the same": (1, 3), "of another number": (1, 2), "of the whole": (0, 1)}
    with locks.part(tmp_path, *runs[next_run]):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stands", ["link", "pipe", "directory"])
def test_the_file_of_a_part_is_a_plain_file(tmp_path: Path, stands: str) -> None:
    """A repository may hold something of that name: nothing is opened through it."""
    place, outside = tmp_path / "out/.shard-1-of-2.00000000.krm-windows", tmp_path / "outside"
    place.parent.mkdir()
    {
        "link": lambda: place.symlink_to(outside),
        "pipe": lambda: os.mkfifo(place),
        "directory": place.mkdir,
    }[stands]()
    assert ".shard-1-of-2" in refused(locks.part(tmp_path / "out", 0, 2))
    for free in (locks.part(tmp_path / "out", 0, 3), locks.alone(tmp_path / "out")):
        with free:
            pass
    assert os.path.lexists(place)
    assert not outside.exists()


def test_a_directory_that_was_not_used_goes(tmp_path: Path) -> None:
    """One that was there stays."""
    with locks.alone(tmp_path / "new"):
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with locks.alone(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()
