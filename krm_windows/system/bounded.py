"""What a user names as input, read with a limit.

A plain file, standard input, or a pipe such as a shell's `<(…)`.
"""

import stat
from pathlib import Path
from typing import IO

from krm_windows.krm import limits
from krm_windows.system.errors import WorkspaceError

MOST = limits.INPUT
"""So many bytes of one input are read at most; more is an error."""
# So much is read at once: 1 MiB.
_CHUNK = 1 << 20


def read_file(path: str | Path, *, most: int = MOST) -> bytes:
    """Return what a file or a pipe holds.

    Raises WorkspaceError for a device, and for what is too large or endless.
    """
    place = Path(path)
    # Before it is opened, as opening a device may do something.
    kind = place.stat().st_mode
    if stat.S_ISDIR(kind):
        raise WorkspaceError(f"{place}: is a directory, not a file")
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
        raise WorkspaceError(f"{place}: is a device or a socket, not a file")
    with place.open("rb", buffering=0) as file:
        return read_stream(file, str(path), most=most)


def read_stream(stream: IO[bytes], name: str, *, most: int = MOST) -> bytes:
    """Return what a stream holds up to its end; raises WorkspaceError where that is too much."""
    content = bytearray()
    # One byte more than is allowed distinguishes what is too large from what just fits.
    while part := stream.read(min(_CHUNK, most - len(content) + 1)):
        content += part
        if len(content) > most:
            raise WorkspaceError(
                f"{name}: is larger than {most >> 20} MiB, the most that is read from one input"
            )
    return bytes(content)
