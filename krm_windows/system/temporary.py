"""Temporary directories: none is left behind, whenever the command that made it is ended.

A signal may come between any two steps, also before a directory is in the hands of what removes it
(the `with` of `tempfile.TemporaryDirectory`), or while it is removed.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_made: set[Path] = set()
"""Those that may be there, each from before it is made until after it was removed."""


def make(prefix: str) -> Path:
    """Make a directory for this user alone, and return its path without links."""
    # Without links, as the temporary directory may be one (`/tmp` on macOS).
    path = Path(os.path.realpath(tempfile.gettempdir()), f"{prefix}{secrets.token_hex(8)}")
    _made.add(path)
    try:
        path.mkdir(mode=0o700)
    except OSError:
        # What is there already is somebody else's.
        _made.discard(path)
        raise
    return path


def remove(path: Path) -> None:
    """Remove a directory that `make` made, with all that is in it."""
    shutil.rmtree(path, ignore_errors=True)
    _made.discard(path)


def made() -> frozenset[Path]:
    """Return those that may be there now."""
    return frozenset(_made)


def remove_since(before: frozenset[Path]) -> None:
    """Remove those that are left of a command that was ended, of all made after `before`.

    A process may call several commands: what the caller has made is the caller's.
    """
    for path in _made - before:
        remove(path)


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """Give a temporary directory, which is removed at the end."""
    path = make(prefix)
    try:
        yield path
    finally:
        remove(path)
