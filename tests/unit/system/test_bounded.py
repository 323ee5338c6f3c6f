"""Input that a user names is read with a limit, whatever it is."""

import io
import os
import socket
import threading
from pathlib import Path

import pytest

from krm_windows.system.bounded import read_file, read_stream
from krm_windows.system.errors import WorkspaceError

MOST = 3 << 20


class Endless(io.RawIOBase):
    taken = 0

    def read(self, size: int = -1) -> bytes:
        assert size > 0
        self.taken += size
        return b"x" * size


def test_no_more_is_read_than_the_limit() -> None:
    endless = Endless()
    with pytest.raises(WorkspaceError, match="standard input: is larger than 3 MiB"):
        read_stream(endless, "standard input", most=MOST)
    assert endless.taken <= MOST + 1
    assert len(read_stream(io.BytesIO(b"x" * MOST), "x", most=MOST)) == MOST


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(WorkspaceError, match="is larger than 3 MiB"):
        read_file(tmp_path / "sparse", most=MOST)
    assert read_file(Path("/proc/self/stat")) != b""


def test_what_is_no_file(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        for path in (tmp_path / "s", Path("/dev/zero"), Path("/dev/tty")):
            with pytest.raises(WorkspaceError, match="a device or a socket"):
                read_file(path)
    with pytest.raises(WorkspaceError, match="is a directory"):
        read_file(tmp_path)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    data = b"x" * 1_000_000
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[data])
    writer.start()
    assert read_file(tmp_path / "pipe") == data
    writer.join()
    for content in (b"", b"content"):
        reading, writing = os.pipe()
        os.write(writing, content)
        os.close(writing)
        assert read_file(Path(f"/dev/fd/{reading}")) == content
        os.close(reading)


def test_a_pipe_without_an_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x" * 1000)
    try:
        with pytest.raises(WorkspaceError, match="larger than 0 MiB"):
            read_file(Path(f"/dev/fd/{reading}"), most=999)
    finally:
        os.close(reading)
        os.close(writing)
