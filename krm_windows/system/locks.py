"""Who may write into a directory: one run, or runs that each have another part of it.

The lock is flock(2) on the directory itself: nothing is left behind, and it ends with the process
that has it, however that ends. Parts of a fleet share that lock; each has one of its own on an
empty hidden file, which goes with it (what a run that was killed leaves of it is no lock, and the
next run removes it).

flock on a directory is visible only on the same machine, also on a volume that several mount; on a
file it is visible to all.
"""

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from krm_windows.system.directories import SUFFIX, Directory
from krm_windows.system.errors import WorkspaceError

_PART = re.compile(rf"\.shard-(\d+)-of-(\d+)\.00000000{re.escape(SUFFIX)}")
_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# A filesystem without locks says one of these: there, a run goes on without.
_WITHOUT = frozenset({errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
# Each attempt means that another run has got on; a hundred of them in a row is a fault.
_ATTEMPTS = 100


@contextmanager
def alone(path: Path) -> Iterator[Directory]:
    """Give a directory, made where it is missing, in which no other run writes.

    WorkspaceError where one does.
    """
    # Exclusive: neither another run of the whole, nor one of a part, may be there (flock(2)).
    with _locked(path, fcntl.LOCK_EX) as directory:
        for name in _parts(directory):  # nobody has one: that would need this lock, too
            directory.remove(name)
        yield directory


@contextmanager
def part(path: Path, index: int, count: int) -> Iterator[Directory]:
    """Give a directory in which no other run writes but those of the other parts.

    `index` is from 0 on. Runs of another number of parts, whose parts are others, are kept out,
    too.
    """
    # One part of one is the whole.
    if count == 1:
        with alone(path) as directory:
            yield directory
        return
    name = f".shard-{index + 1}{_of(count)}"
    # Shared among parts, and in the way of a run that wants all of it.
    with _locked(path, fcntl.LOCK_SH) as directory, ExitStack() as stack:
        stack.callback(os.close, _own(directory, name))
        # Callbacks run in reverse: the file goes while its lock is still held.
        stack.callback(directory.remove, name)
        _refuse_other_counts(directory, count)
        yield directory


@contextmanager
def _locked(path: Path, how: int) -> Iterator[Directory]:
    # Whether it was there before says whether it is ours to remove.
    before = Directory.named(path)
    if before is not None:
        before.close()
    with _current(path, how) as directory:
        try:
            yield directory
        finally:
            # A run that failed leaves no directory of its own; whoever has opened it meanwhile
            # opens it again.
            if before is None and how == fcntl.LOCK_EX and not directory.entries():
                with suppress(OSError):
                    path.rmdir()


def _current(path: Path, how: int) -> Directory:
    """Open and lock a directory; one that was removed between the two is opened again."""
    for _ in range(_ATTEMPTS):
        with ExitStack() as stack:
            directory = stack.enter_context(Directory.made(path))
            _take(directory, directory.descriptor, how)
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


def _own(directory: Directory, name: str) -> int:
    """Open and lock the file of a part; one that was removed between the two is opened again."""
    for _ in range(_ATTEMPTS):
        try:
            # Opened and not made anew: the lock of whoever has it is on this very file.
            descriptor = os.open(name, _FILE, mode=0o600, dir_fd=directory.descriptor)
        except OSError as error:
            raise WorkspaceError(
                f"{directory.path / name} cannot be opened: {error.strerror}"
            ) from None
        with ExitStack() as stack:
            stack.callback(os.close, descriptor)
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise WorkspaceError(
                    f"{directory.path / name} is in the way: it is not a regular file"
                )
            _take(directory, descriptor, fcntl.LOCK_EX, name)
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=directory.descriptor, follow_symlinks=False)
                # A file of that name that another run has made meanwhile is another one.
                if os.path.samestat(found, os.fstat(descriptor)):
                    stack.pop_all()
                    return descriptor
    raise WorkspaceError(
        f"{directory.path / name} keeps being removed: is another run in progress?"
    )


def _refuse_other_counts(directory: Directory, count: int) -> None:
    """Refuse to go on beside a run of another number of parts.

    Remove what one that was killed left.
    """
    for name in _parts(directory):
        if name.endswith(_of(count)):
            continue
        with suppress(FileNotFoundError):
            # Without O_CREAT: a file that is gone is nobody's lock.
            descriptor = os.open(name, _FILE & ~os.O_CREAT, dir_fd=directory.descriptor)
            try:
                _take(directory, descriptor, fcntl.LOCK_EX, name)
                directory.remove(name)
            finally:
                os.close(descriptor)


def _parts(directory: Directory) -> list[str]:
    """Return the names of the parts' files in a directory."""
    names = [name for name, _ in directory.entries() if _PART.fullmatch(name)]
    return [name for name in names if directory.kind(name) == stat.S_IFREG]


def _of(count: int) -> str:
    """Return how the name of a part's file ends."""
    return f"-of-{count}.00000000{SUFFIX}"


def _take(
    directory: Directory,
    descriptor: int,
    how: int,
    name: str = "",
) -> None:
    """Lock a directory, or the file of a part in it, at once.

    Raises WorkspaceError where another run has it.
    """
    try:
        # At once or not at all: a pipeline that waits for another looks as if it hung.
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WorkspaceError(_busy(directory, descriptor, name)) from None
    except OSError as error:
        if error.errno not in _WITHOUT:
            raise


def _busy(directory: Directory, descriptor: int, name: str) -> str:
    """Say who is in the way, as far as it is known."""
    what = "into it"
    if found := _PART.fullmatch(name):
        what = f"shard {found[1]} of {found[2]} of it"
    who = _holder(os.fstat(descriptor))
    return (
        f"{directory.path}: another run{who} is writing {what}: wait until it has ended, then "
        "run this again"
    )


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
