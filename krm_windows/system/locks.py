"""Who may write into a directory: one run.

The lock is flock(2) on the directory itself: nothing is left behind, and it ends with the process
that has it, however that ends. It is visible only on the same machine, also on a volume that
several mount.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError

# A filesystem without locks says one of these: there, a run goes on without.
_WITHOUT = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
# Each attempt means that another run has got on; a hundred of them in a row is a fault.
_ATTEMPTS = 100


@contextmanager
def alone(path: Path) -> Iterator[Directory]:
    """Give a directory, made where it is missing, in which no other run writes.

    WorkspaceError where one does.
    """
    # Whether it was there before says whether it is ours to remove.
    before = Directory.named(path)
    if before is not None:
        before.close()
    with _current(path) as directory:
        try:
            yield directory
        finally:
            # A run that failed leaves no directory of its own; whoever has opened it meanwhile
            # opens it again.
            if before is None and not directory.entries():
                with suppress(OSError):
                    path.rmdir()


def _current(path: Path) -> Directory:
    """Open and lock a directory; one that was removed between the two is opened again."""
    for _ in range(_ATTEMPTS):
        with ExitStack() as stack:
            directory = stack.enter_context(Directory.made(path))
            _take(directory)
            if _is_now(path, directory):
                stack.pop_all()
                return directory
    raise WorkspaceError(f"{path} keeps being removed: is another run in progress?")


def _is_now(path: Path, directory: Directory) -> bool:
    """Whether an open directory is the one that a path leads to."""
    now = Directory.named(path)
    if now is None:
        return False
    with now:
        # The same device and inode, wherever the path leads by now.
        return os.path.sameopenfile(now.descriptor, directory.descriptor)


def _take(directory: Directory) -> None:
    """Lock a directory at once; raises WorkspaceError where another run has it."""
    try:
        # At once or not at all: a pipeline that waits for another looks as if it hung.
        fcntl.flock(directory.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = _holder(os.fstat(directory.descriptor))
        raise WorkspaceError(
            f"{directory.path}: another run{who} is writing into it: wait until it has ended, then "
            "run this again"
        ) from None
    except OSError as error:
        if error.errno not in _WITHOUT:
            raise


def _holder(held: os.stat_result) -> str:
    """Return which process has the lock on a file, from Linux's list of them.

    Empty where that is not known.
    """
    # Major and minor device in hexadecimal, and the inode: `08:01:131`.
    place = f"{os.major(held.st_dev):02x}:{os.minor(held.st_dev):02x}:{held.st_ino}"
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    for line in lines:
        fields = line.split()
        # 1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF (proc(5))
        if place in fields and "FLOCK" in fields:
            return f" (process {fields[4]})"
    return ""
