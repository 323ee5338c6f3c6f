"""Who may write into a directory: one run."""

import subprocess
import sys
from pathlib import Path

import pytest

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import Folder

HOLDER = """
import sys
from pathlib import Path
from krm_windows.system.directories import Directory
with Directory.named(Path({path!r})).alone():
    print("has it", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[bytes]:
    text = HOLDER.format(path=str(path))
    process = subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"has it\n"
    return process


def test_one_run_at_a_time(tmp_path: Path) -> None:
    with holder(tmp_path / "out") as first:
        with (
            pytest.raises(WorkspaceError, match="another run"),
            Directory.named(tmp_path / "out").alone(),
        ):
            pass
        with pytest.raises(WorkspaceError, match="another run"):
            Folder(tmp_path / "out", frozenset()).write({"a": b""})
        assert list((tmp_path / "out").iterdir()) == []
        first.kill()
    with Directory.named(tmp_path / "out").alone() as directory:
        assert directory.exists()


def test_a_directory_that_was_not_used_goes(tmp_path: Path) -> None:
    with Directory.named(tmp_path / "new").alone():
        pass
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with Directory.named(tmp_path / "old").alone():
        pass
    assert (tmp_path / "old").is_dir()
