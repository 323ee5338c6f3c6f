"""A directory in which files are read and written by their paths.

Every step of a path is opened in the one before it, and none may be a link (openat(2) with
O_NOFOLLOW), so that no name, and no link that was put there before or meanwhile, leads out.

Whose a link is decides about the path of the directory itself. A repository may hold links that its
author made, so below the top of a repository, and below the working directory, no part of the path
may be one. What is above is the user's: `/tmp` or a home may be a link. The directory that is
named may be none in any case.
"""

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.tops import is_top

SUFFIX = ".krm-windows"
"""What the names of files and directories end in that are not whole yet."""
MOST = 64 << 20
"""So many bytes of a file are read at most: no manifest has more."""
# A first line is read within this; a longer one is not one of our headers.
_HEAD = 4096
# So much of a name goes into that of what is beside it, as a name may have 255 bytes.
_READABLE = 200
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Neither a pipe without writers nor a terminal may hold the run up, or become its own.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# O_EXCL: whatever has the name already, a link too, is left alone.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory at `path`, and where links are followed on the way to it.

    That is as far as `base`, and not in the `steps` from there.
    """

    path: Path
    base: Path
    steps: tuple[str, ...] = ()

    @classmethod
    def at(cls, path: Path) -> "Directory":
        """Take a directory that is there, through links where there are some.

        The path is our own or the user's.
        """
        return cls(path, path)

    @classmethod
    def named(cls, path: Path) -> "Directory":
        """Take a directory that a user named for output, whether it is there or not."""
        whole = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
        base = _base(whole)
        while not base.is_dir() and base != base.parent:
            base = base.parent
        return cls(whole, base, whole.relative_to(base).parts)

    def exists(self) -> bool:
        """Whether it is there; raises WorkspaceError where something else is in its place."""
        try:
            with self._opened():
                return True
        except FileNotFoundError:
            return False

    def kind(self, path: str) -> int | None:
        """Return the file type at a path (`stat.S_IFMT`), of a link itself; None where nothing is.

        Raises WorkspaceError where a link or a file is on the way.
        """
        *steps, name = _names(path)
        try:
            with self._opened(steps) as folder:
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return stat.S_IFMT(found.st_mode)

    def read(self, path: str, *, head: int | None = None) -> bytes | None:
        """Return what a plain file holds, or so many bytes of its beginning.

        None where there is none, or something else, or a link on the way, or it may not be read.
        Raises WorkspaceError where it is too large.
        """
        try:
            *steps, name = _names(path)
            with self._opened(steps) as folder:
                # A device must not even be opened.
                if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                    return None
                descriptor = os.open(name, _FILE, dir_fd=folder)
            with os.fdopen(descriptor, "rb", buffering=0) as file:
                size = os.fstat(descriptor).st_size
                if head or size <= MOST:
                    return file.read(head or size)
        except (OSError, WorkspaceError):
            return None
        raise WorkspaceError(f"{path}: is larger than {MOST >> 20} MiB, so it is not read")

    def first_line(self, path: str) -> str:
        """Return the first line of a plain file; empty for anything else."""
        content = self.read(path, head=_HEAD) or b""
        return content.partition(b"\n")[0].rstrip(b"\r").decode(errors="replace")

    def put(self, path: str, content: bytes, *, lasting: bool = True, mode: int = 0o644) -> None:
        """Put content at a path in one step, in directories that are made for it.

        It is written beside its place and renamed onto it, so that whoever reads sees the old or
        the new one; rename(2) takes the place of a link and does not follow it. Where it is not
        `lasting`, a failure of power may lose it, and leave an empty file.
        """
        *steps, name = _names(path)
        temporary = _beside(name)
        with self._writing(path), self._opened(steps, make=True) as folder:
            try:
                with os.fdopen(os.open(temporary, _NEW, 0o600, dir_fd=folder), "wb") as file:
                    file.write(content)
                    file.flush()
                    if lasting:
                        os.fsync(file.fileno())
                    # At last, whatever the umask: nobody reads what is only half there.
                    os.fchmod(file.fileno(), mode)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                # Where nothing can be written, nothing can be removed either.
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                self._prune(steps)
                raise

    def remove(self, path: str) -> None:
        """Remove the file at a path, and the directories that it leaves empty."""
        *steps, name = _names(path)
        with self._opened(steps) as folder:
            os.unlink(name, dir_fd=folder)
        self._prune(steps)

    def _prune(self, steps: Sequence[str]) -> None:
        """Remove a directory below, and those above it, as far as they are empty."""
        # The innermost first; one in which somebody else has a file stays (rmdir(2)).
        with suppress(OSError, WorkspaceError):
            while steps:
                *steps, name = steps
                with self._opened(steps) as folder:
                    os.rmdir(name, dir_fd=folder)

    @contextmanager
    def alone(self) -> "Iterator[Directory]":
        """Give this directory, made where it is missing, while no other run writes into it.

        Raises WorkspaceError where one does. The lock is flock(2) on the directory itself: nothing
        is left behind, it ends with the process, and is seen on the same machine only.
        """
        is_new = not self.exists()
        with ExitStack() as held:
            with self._writing(""):
                directory = held.enter_context(self._opened(make=True))
            try:
                # At once or not at all: a pipeline that waits for another looks as if it hung.
                fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkspaceError(
                    f"{self.path}: another run is writing into it: wait until it has ended, then "
                    "run this again"
                ) from None
            except OSError:
                pass
            try:
                yield self
            finally:
                # A run that failed leaves no directory of its own; one that is not empty stays.
                if is_new:
                    with suppress(OSError):
                        self.path.rmdir()

    @contextmanager
    def _opened(self, steps: Sequence[str] = (), *, make: bool = False) -> Iterator[int]:
        """Give the descriptor of a directory in this one, name by name.

        Raises WorkspaceError where a link or a file is on the way.
        """
        place = self.base
        descriptor = os.open(place, _DIRECTORY & ~os.O_NOFOLLOW)
        try:
            for name in (*self.steps, *steps):
                place /= name
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=descriptor)
                try:
                    below = os.open(name, _DIRECTORY, dir_fd=descriptor)
                except OSError as error:
                    # Of a file the kernel says ENOTDIR, of a link one of the two (open(2)).
                    if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                        raise
                    raise WorkspaceError(_in_the_way(place)) from None
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        """Say where nothing can be written."""
        try:
            yield
        except OSError as error:
            raise WorkspaceError(
                f"{self.path / path}: cannot be written: {error.strerror}; free some space there, "
                "or name another directory"
            ) from error


def create(path: Path, files: Mapping[str, bytes]) -> None:
    """Make a directory of files.

    Raises WorkspaceError where something is there already; an empty directory may be.
    """
    with Directory.named(path).alone() as directory:
        if os.listdir(directory.path):  # noqa: PTH208
            raise WorkspaceError(
                f"{path} is in the way: use a directory that does not exist or is empty"
            )
        for name, content in files.items():
            directory.put(name, content)


def _names(path: str) -> list[str]:
    names = path.split("/")
    if "\0" in path or any(name in ("", ".", "..") for name in names):
        raise WorkspaceError(f"{path!r} is not the path of a file in a directory")
    return names


def _beside(name: str) -> str:
    """Return a name of what is to become `name`: `.out.1f2e3d4c.krm-windows`."""
    return f".{name[:_READABLE]}.{secrets.token_hex(4)}{SUFFIX}"


def _in_the_way(place: Path) -> str:
    if place.is_symlink():
        return (
            f"{place} is in the way: it is a symbolic link, which is not followed; use the path "
            "that it links to"
        )
    return f"{place} is in the way: it is not a directory; move it away, or name another one"


def _base(whole: Path) -> Path:
    """Return the outermost directory on a path that may hold a repository.

    Else the directory that the path is in.
    """
    here = PurePath(os.getcwd())  # noqa: PTH109 - it is compared, not used
    for above in reversed(whole.parents):
        # The working directory never is a link itself (getcwd(3)). `/` is no repository, whoever is
        # in it.
        if (above == here and here != here.parent) or is_top(above):
            return above
    return whole if whole == here else whole.parent
