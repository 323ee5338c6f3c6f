"""What was built, kept for the next time.

In a directory of the user's alone, and believed only if we wrote it. An entry begins with a code
over its name and content (HMAC, RFC 2104) by a key that is elsewhere, so that nobody who can
write to the directory, such as whoever fills a cache of CI, can put an entry there that is
believed.
"""

import hashlib
import hmac
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system.errors import WorkspaceError

_KEY_BYTES = 32
_CODE_BYTES = hashlib.sha256().digest_size
# An entry, or one that was being written when a run was killed: with a random end.
_ENTRY = re.compile(r"[0-9a-f]{64}(?:\.[0-9a-f]{16})?")
# What a build prints is far less; a larger file was put there by somebody else.
_MOST_OF_ONE = 256 * 1024 * 1024
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Kept:
    """How much a cache keeps: days since an entry was last used, and bytes of all."""

    days: int = 30
    size: int = 1024 * 1024 * 1024


class Cache:
    """A directory of entries by name, which are SHA-256 in hexadecimal digits."""

    def __init__(
        self,
        directory: Path,
        key: Path,
        kept: Kept | None = None,
    ) -> None:
        """Make the directory where it is not there.

        Raises WorkspaceError where it is not the user's alone. `key` is the file of the
        user's key, which is made as well, and shared by all caches.
        """
        self.directory = directory
        self._kept = kept or Kept()
        self._descriptor = _private_directory(directory)
        self._key = _key(key)
        self._is_pruned = False

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._descriptor)

    def read(self, name: str) -> bytes | None:
        """Return an entry; None where there is none, or one that was not written here."""
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._descriptor
            )
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if (
                not stat.S_ISREG(found.st_mode)
                or found.st_uid != os.geteuid()
                or found.st_size > _MOST_OF_ONE
            ):
                return None
            # The code is first, so that one pass reads both.
            code, content = file.read(_CODE_BYTES), file.read(_MOST_OF_ONE)
            # In constant time, whatever the first differing byte is.
            if not hmac.compare_digest(code, self._code(name, content)):
                return None
            with suppress(OSError):
                # It is used, so it stays.
                os.utime(descriptor)
            return content

    def write(self, name: str, content: bytes) -> None:
        """Keep an entry, in one step; one that cannot be kept is built again next time."""
        if len(content) + _CODE_BYTES > _MOST_OF_ONE:
            return
        with suppress(OSError):
            self._replace(name, self._code(name, content) + content)
            # Once a run is enough: a look at all entries takes longer than to write one.
            if not self._is_pruned:
                self._is_pruned = True
                self._prune()

    def _code(self, name: str, content: bytes) -> bytes:
        # With the name in it, no entry can be passed off as another.
        return hmac.digest(self._key, name.encode() + b"\0" + content, "sha256")

    def _replace(self, name: str, content: bytes) -> None:
        temporary = f"{name}.{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o600, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            # Whoever reads meanwhile sees the old entry or the new one (rename(2)).
            os.replace(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            os.unlink(temporary, dir_fd=self._descriptor)
            raise

    def _prune(self) -> None:
        """Remove what was not used for long, and the oldest of what is too much.

        Nothing that is not ours by name.
        """
        left = self._kept.size
        oldest = time.time() - self._kept.days * _DAY
        # The latest first: what there is no room for any more is the oldest.
        for name, used, size in sorted(self._entries(), key=lambda entry: entry[1], reverse=True):
            left -= size
            if left < 0 or used < oldest:
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._descriptor)

    def _entries(self) -> Iterator[tuple[str, float, int]]:
        """Yield the name, the time of the last use and the size of each entry."""
        for name in os.listdir(self._descriptor):  # noqa: PTH208 - the directory is a descriptor
            if _ENTRY.fullmatch(name):
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
                    yield name, found.st_mtime, found.st_size


def _private_directory(path: Path) -> int:
    """Return a descriptor of a directory that the user alone may write to and read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        # Another run may make it at the same time.
        path.mkdir(mode=0o700)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise WorkspaceError(
            f"{path}: cannot be used as the cache directory: {error.strerror}"
        ) from error
    try:
        _claim(descriptor, path, 0o700)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _key(path: Path) -> bytes:
    """Return the user's key, which is made where there is none."""
    os.close(_private_directory(path.parent))
    # Also where a link leads nowhere: it is refused below, not followed.
    if not os.path.lexists(path):
        _make_key(path)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as file:
        _claim(descriptor, path, 0o600)
        # One byte more, so that a longer file is no key either.
        key = file.read(_KEY_BYTES + 1)
    if len(key) != _KEY_BYTES:
        raise WorkspaceError(
            f"{path}: must contain {_KEY_BYTES} bytes; remove it, and a new one is created"
        )
    return key


def _make_key(path: Path) -> None:
    """Make a key, whole or not at all; another run that does so at the same time may win."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with suppress(FileExistsError):
            # Unlike a rename, a link replaces nothing: whoever comes second uses the key of the
            # first.
            os.link(temporary, path)
    finally:
        temporary.unlink()


def _claim(descriptor: int, path: Path, mode: int) -> None:
    """Refuse what is another user's, or others could have written to.

    Keep others from reading it.
    """
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid():
        raise WorkspaceError(
            f"{path}: belongs to another user, so it is not used; use another directory"
        )
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise WorkspaceError(
            f"{path}: is writable by others, so it is not used; remove it, or use another directory"
        )
    if stat.S_IMODE(found.st_mode) != mode:
        # It is ours and nobody else could write to it, so it is only made private.
        os.fchmod(descriptor, mode)
