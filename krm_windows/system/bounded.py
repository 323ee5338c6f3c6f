"""What a user names as input, read with a limit.

A plain file, standard input, or a pipe such as a shell's `<(…)`.
"""

import os
import select
import stat
import time
from typing import IO

from krm_windows.krm import limits
from krm_windows.system.errors import WorkspaceError

MOST = limits.INPUT
"""So many bytes of one input are read at most; more is an error."""
PATIENCE = 120.0
"""Seconds that a pipe may take until it is read to its end."""
# So much is read at once: 1 MiB.
_CHUNK = 1 << 20


def read_file(
    path: str | os.PathLike[str],
    *,
    most: int = MOST,
    patience: float = PATIENCE,
) -> bytes:
    """Return what a file or a pipe holds.

    Raises WorkspaceError for a device, and for what is too large or endless.
    """
    name = os.fspath(path)
    # Before it is opened, as opening a device may do something.
    _refuse_others(name, os.stat(path).st_mode)
    # Without O_NONBLOCK the open of a pipe waits for whoever writes into it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        kind = os.fstat(descriptor).st_mode
        # Again, as the name may lead elsewhere by now.
        _refuse_others(name, kind)
        if stat.S_ISFIFO(kind):
            return _piped(name, descriptor, most, patience)
        return read_stream(file, name, most=most)


def _refuse_others(path: str, kind: int) -> None:
    if stat.S_ISDIR(kind):
        raise WorkspaceError(f"{path}: is a directory, not a file")
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
        raise WorkspaceError(f"{path}: is a device or a socket, not a file")


def read_stream(
    stream: IO[bytes],
    name: str,
    *,
    most: int = MOST,
) -> bytes:
    """Return what a stream holds up to its end; raises WorkspaceError where that is too much."""
    parts: list[bytes] = []
    left = most
    # One byte more than is allowed distinguishes what is too large from what just fits.
    while part := stream.read(min(_CHUNK, left + 1)):
        left -= len(part)
        if left < 0:
            raise WorkspaceError(_too_large(name, most))
        parts.append(part)
    return b"".join(parts)


def _piped(
    path: str,
    descriptor: int,
    most: int,
    patience: float,
) -> bytes:
    """Read a pipe up to its end, which a named one has only when somebody has written into it."""
    content = bytearray()
    ends = time.monotonic() + patience
    begun = _has_writers(descriptor)
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while True:
        try:
            part = os.read(descriptor, _CHUNK)
        # Nothing is there yet, but somebody has it open for writing.
        except BlockingIOError:
            part = None
        # A pipe that nobody has opened for writing yet reads as empty too.
        if part == b"" and begun:
            return bytes(content)
        if part:
            begun = True
            content += part
            if len(content) > most:
                raise WorkspaceError(_too_large(path, most))
            continue
        # Milliseconds, and never a negative number, which means for ever.
        found = poll.poll(max(ends - time.monotonic(), 0) * 1000)
        if not found:
            raise WorkspaceError(f"{path}: is a pipe that did not end within {patience:g} s")
        # Whoever had it open has closed it: what is read then is all there is.
        begun = begun or bool(found[0][1] & select.POLLHUP)


def _has_writers(descriptor: int) -> bool:
    """Whether a pipe is one without a name, such as that of a shell's `<(…)`.

    Its writers were there before us.
    """
    reading, writing = os.pipe()
    try:
        # Pipes without names are in a file system of the kernel (pipefs), named ones in that of a
        # disk.
        return os.fstat(descriptor).st_dev == os.fstat(reading).st_dev
    finally:
        os.close(reading)
        os.close(writing)


def _too_large(name: str, most: int) -> str:
    return f"{name}: is larger than {most >> 20} MiB, the most that is read from one input"
