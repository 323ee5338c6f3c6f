"""What was built, kept for the next time in a directory of the user's alone.

The name of an entry is the digest of all that it was built from. Whoever can write to the directory
is believed, so nobody else may.
"""

import hashlib
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

from krm_windows.system.directories import SUFFIX, Directory
from krm_windows.system.errors import WorkspaceError

# An entry, or one that was being written when a run was killed.
_ENTRY = re.compile(rf"[0-9a-f]{{64}}|\.[0-9a-f]{{64}}\.[0-9a-f]{{8}}{re.escape(SUFFIX)}")
_DIGEST = hashlib.sha256().digest_size
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
# What is kept: seconds since an entry was last used, and bytes of all.
_AGE = 30 * 24 * 60 * 60
SIZE = 1 << 30


class Cache:
    """A directory of entries by name, which are SHA-256 in hexadecimal digits."""

    def __init__(self, directory: Path, size: int = SIZE) -> None:
        """Make the directory where it is not there, and remove from it what is too old or too much.

        Raises WorkspaceError where it is not the user's alone.
        """
        self._directory = Directory.at(directory)
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Another run may make it at the same time.
        with suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        found = directory.lstat()
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if not is_ours or found.st_mode & _OTHERS_MAY_WRITE:
            raise WorkspaceError(
                f"{directory}: is no directory, belongs to another user or is writable by others, "
                "so it is not used; remove it, or use another directory"
            )
        # It is ours and nobody else could write to it, so it is only made private.
        directory.chmod(0o700)
        with suppress(OSError):  # another run may prune, too
            self._prune(size)

    def read(self, name: str) -> bytes | None:
        """Return an entry; None where there is none, or a part of one."""
        with suppress(OSError, WorkspaceError):
            whole = self._directory.read(name) or b""
            # A failure of power may leave a file that is empty or cut.
            if whole[:_DIGEST] == hashlib.sha256(whole[_DIGEST:]).digest():
                # It is used, so it stays.
                os.utime(self._directory.path / name)
                return whole[_DIGEST:]
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep an entry, in one step; one that cannot be kept is built again next time."""
        with suppress(OSError, WorkspaceError):
            whole = hashlib.sha256(content).digest() + content
            self._directory.put(name, whole, lasting=False, mode=0o600)

    def _prune(self, size: int) -> None:
        """Remove what was not used for long, and the oldest of what is too much.

        Nothing that is not ours by name.
        """
        left = size
        oldest = time.time() - _AGE
        ours = filter(lambda path: _ENTRY.fullmatch(path.name), self._directory.path.iterdir())
        found = [(path.lstat(), path) for path in ours]
        # The latest first: what there is no room for any more is the oldest.
        for entry, path in sorted(found, key=lambda each: each[0].st_mtime, reverse=True):
            left -= entry.st_size
            if left < 0 or entry.st_mtime < oldest:
                path.unlink()
