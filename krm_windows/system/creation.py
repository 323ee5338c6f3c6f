"""A directory made at once: it appears with all its files, or not at all.

It is made beside its place and renamed onto it. That is also what keeps two runs apart: the second
finds a directory that is not empty, and rename(2) refuses.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from krm_windows.system.directories import SUFFIX, Directory, split
from krm_windows.system.errors import WorkspaceError

_READABLE = 200


def create(path: Path, files: Mapping[str, bytes]) -> None:
    """Make a directory of files, by path below it.

    Raises WorkspaceError where something is there already.
    """
    for name in files:
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise WorkspaceError(f"{name!r} leads out of {path}")
    place, name = split(path)
    _refuse_taken(path)
    with Directory.made(place) as above:
        # Hidden, and with an ending of ours: `.out.1f2e3d4c.krm-windows`.
        temporary = f".{name[:_READABLE]}.{secrets.token_hex(4)}{SUFFIX}"
        # Nobody else looks in before it is whole.
        try:
            os.mkdir(temporary, mode=0o700, dir_fd=above.descriptor)
        except OSError as error:
            above.explain(error, name)
            raise
        try:
            with above.below([temporary]) as made:
                # It is called what it will be called: nobody knows the hidden one.
                _fill(Directory(os.dup(made.descriptor), above.path / name), files)
                # As mkdir makes a directory under the usual umask.
                os.fchmod(made.descriptor, 0o755)
            _move(above, temporary, name, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True, dir_fd=above.descriptor)
            raise


def _refuse_taken(path: Path) -> None:
    """Refuse a path at which something exists; an empty directory may."""
    taken = WorkspaceError(f"{path} is in the way: use a directory that does not exist or is empty")
    try:
        there = Directory.named(path)
    except NotADirectoryError:
        raise taken from None
    if there is None:
        return
    with there:
        if there.entries():
            raise taken


def _fill(made: Directory, files: Mapping[str, bytes]) -> None:
    with made:
        for path, content in files.items():
            *steps, name = path.split("/")
            with made.below(steps, make=True) as folder:
                folder.create(name, content, lasting=True)


def _move(
    above: Directory,
    temporary: str,
    name: str,
    path: Path,
) -> None:
    """Give the directory its name.

    Rename(2) takes the place of an empty one, and of nothing else.
    """
    try:
        os.rename(temporary, name, src_dir_fd=above.descriptor, dst_dir_fd=above.descriptor)
    except OSError as error:
        # An empty volume, say.
        if error.errno == errno.EBUSY:
            raise WorkspaceError(
                f"{path} is in the way: something is mounted there; name a directory in it"
            ) from None
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise WorkspaceError(
                f"{path} is in the way: another run has created it in the meantime"
            ) from None
        above.explain(error, name)
        raise
