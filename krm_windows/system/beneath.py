"""Files below a directory that may mean harm.

Opened where they are plain files, at no link's end, and not too large. Every step of a path is
opened in the one before, and none may be a link, so that what changes meanwhile leads nowhere.
"""

import os
import stat
from collections.abc import Sequence

from krm_windows.system.errors import WorkspaceError

_MIB = 1024 * 1024
# A manifest is far smaller; what is larger is no text that a person wrote.
MOST_OF_A_FILE = 64 * _MIB
MOST_OF_ALL = 1024 * _MIB
# O_NOFOLLOW on every step: a link that was put there meanwhile is refused by the kernel itself.
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Neither a pipe without writers nor a terminal may hold the run up, or become its own.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Budget:
    """How much may still be read of one directory, each file counted once."""

    def __init__(self, left: int = MOST_OF_ALL) -> None:
        """Begin with so many bytes."""
        self._left = left
        self._known: set[str] = set()

    def spend(self, root: str, path: str, size: int) -> None:
        """Count a file; raises WorkspaceError where that is too much."""
        # Several builds may read one file; it costs memory once.
        if path not in self._known:
            self._known.add(path)
            self._left -= size
        if self._left < 0:
            raise WorkspaceError(
                f"{root}: contains more than {MOST_OF_ALL // _MIB} MiB, the most that is read"
            )


def read_plain(root: str, steps: Sequence[str]) -> bytes | None:
    """Return what a plain file holds.

    None where there is none, or something else, or a link on the way. Raises WorkspaceError
    where it is too large.
    """
    if not steps:
        return None
    try:
        folder = os.open(root, _DIRECTORY)
    except OSError:
        return None
    try:
        for step in steps[:-1]:
            # The next directory is opened in this one, so that no name is looked up twice.
            below = os.open(step, _DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = below
        # A device must not even be opened.
        if not stat.S_ISREG(os.stat(steps[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            return None
        descriptor = os.open(steps[-1], _FILE, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    return _content(descriptor, steps)


def _content(descriptor: int, steps: Sequence[str]) -> bytes | None:
    with os.fdopen(descriptor, "rb", buffering=0):
        # Between the look at the name and its opening something else may have taken the place.
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        left = MOST_OF_A_FILE + 1
        if found.st_size < left:
            parts = []
            # One byte more than it has, so that a file that has grown is noticed.
            while part := os.read(descriptor, min(found.st_size + 1, left)):
                parts.append(part)
                # It may grow while it is read.
                left -= len(part)
            if left > 0:
                return b"".join(parts)
    raise WorkspaceError(
        f"{'/'.join(steps)}: is larger than {MOST_OF_A_FILE // _MIB} MiB, so it is not read"
    )
