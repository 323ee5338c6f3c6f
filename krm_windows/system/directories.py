"""A directory held open by its descriptor.

What is in it is reached one name at a time, and never through a link. Every step is relative to a
descriptor and refuses links (openat(2) with O_NOFOLLOW), so that no name, and no link that was put
there before or meanwhile, leads out of the directory.

Whose a link is decides about the path of the directory itself. A repository may hold links that its
author made, so below the top of a repository, and below the working directory, no part of the path
may be one. What is above is the user's: `/tmp` or a home may be a link. The directory that is
named may be none in any case.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from krm_windows.system.closeable import Closing
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.tops import is_top

SUFFIX = ".krm-windows"
MOST = 256 * 1024 * 1024
"""So many bytes of a file are read at most; it was written from here, or is none of ours."""
# A first line is read within this; a longer one is not one of our headers.
_HEAD = 4096
# So much of a name goes into that of what is beside it, as a name may have 255 bytes.
_READABLE = 200
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the open of a named pipe waits for whoever writes into it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# O_EXCL: whatever has the name already, a link too, is left alone.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What to do where nothing can be written (mkdir(2), open(2), write(2), rename(2)).
_ELSEWHERE = "name another directory"
_ADVICE = {
    # The user may not write there, or nobody may.
    errno.EACCES: "name a directory that you may write to",
    errno.EPERM: "name a directory that you may write to",
    errno.EROFS: "name a directory that you may write to",
    errno.ENOSPC: f"free some space there, or {_ELSEWHERE}",
    errno.EDQUOT: f"free some space there, or {_ELSEWHERE}",
    errno.EISDIR: f"move the directory away, or {_ELSEWHERE}",
    errno.ENAMETOOLONG: "name one with a shorter path",
}
# A directory that is being made may be removed as empty by another run; each time that one has got
# on.
_ATTEMPTS = 100


class Directory(Closing):
    """An open directory; `path` is what it is called in messages."""

    __slots__ = ("descriptor", "path")

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def at(cls, path: Path) -> "Directory":
        """Open a directory that is there, through links where there are some.

        The path is our own or the user's.
        """
        return cls(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), path)

    @classmethod
    def named(cls, path: Path) -> "Directory | None":
        """Open a directory that a user named for output; None where there is none.

        Raises WorkspaceError where a link or something else is in its place.
        """
        base, steps = _steps(path)
        with cls.at(base) as trusted:
            try:
                return trusted.below(steps)
            except FileNotFoundError:
                return None

    @classmethod
    def made(cls, path: Path) -> "Directory":
        """Open a directory that a user named for output, and make it where it is missing."""
        base, steps = _steps(path)
        with cls.at(base) as trusted:
            return trusted.below(steps, make=True)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    def below(
        self,
        steps: Sequence[str],
        *,
        make: bool = False,
    ) -> "Directory":
        """Open a directory below, name by name.

        Raises FileNotFoundError where there is none and it is not to be made, WorkspaceError where
        a link or a file is on the way.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._walk(steps, make=make)
            except FileNotFoundError:
                if not make:
                    raise
        raise WorkspaceError(
            f"{self.path.joinpath(*steps)} cannot be created: nothing new can be created there, "
            f"or another run keeps removing it; {_ELSEWHERE}"
        )

    @contextmanager
    def making(self, steps: Sequence[str]) -> "Iterator[Directory]":
        """Give a directory below, made where it is missing.

        What a failure leaves empty is removed.
        """
        try:
            with self.below(steps, make=True) as place:
                yield place
        except BaseException:
            # Why it could not be written is what the user has to know.
            with suppress(OSError, WorkspaceError):
                self.prune(steps)
            raise

    def found(self, steps: Sequence[str]) -> "Directory | None":
        """Open a directory below; None where there is none, or only one behind a link."""
        try:
            return self.below(steps)
        except (FileNotFoundError, WorkspaceError):
            return None

    def _walk(self, steps: Sequence[str], *, make: bool) -> "Directory":
        place = Directory(os.dup(self.descriptor), self.path)
        for name in steps:
            with place:
                place = Directory(place._step(name, make=make), place.path / name)
        return place

    def _step(self, name: str, *, make: bool) -> int:
        check_name(name)
        try:
            if make:
                with suppress(FileExistsError):
                    # Another run may have made it between the two; which of them did does not
                    # matter.
                    os.mkdir(name, dir_fd=self.descriptor)
            return os.open(name, _DIRECTORY, dir_fd=self.descriptor)
        except OSError as error:
            # Of a file the kernel says ENOTDIR, of a link one of the two (open(2)).
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                raise WorkspaceError(self._in_the_way(name)) from None
            # The step alone, `clusters`, would say little to the user.
            error.filename = str(self.path / name)
            if make:
                self.explain(error, name)
            raise

    def explain(self, error: OSError, name: str) -> None:
        """Make an error of the system say where nothing can be written, and what to do."""
        error.filename = str(self.path / name)
        # The name beside it, from which it was to be renamed, means nothing to the user.
        error.filename2 = None
        if error.errno is None:
            return
        reason = os.strerror(error.errno)
        # Of a directory that is there: /proc takes nothing new.
        if error.errno == errno.ENOENT:
            reason = "nothing new can be created there"
        advice = _ADVICE.get(error.errno, _ELSEWHERE)
        # From its number, so that it may be explained again by whoever knows a better name.
        error.strerror = f"cannot be written: {reason}; {advice}"

    def _in_the_way(self, name: str) -> str:
        place = self.path / name
        if self.kind(name) == stat.S_IFLNK:
            return (
                f"{place} is in the way: it is a symbolic link, which is not followed; use "
                "the path that it links to"
            )
        return f"{place} is in the way: it is not a directory; move it away, or name another one"

    def kind(self, name: str) -> int | None:
        """Return the file type of what has a name here, as `stat.S_IFMT` gives it.

        None where nothing has it.
        """
        try:
            # The name itself, and not what a link leads to.
            found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return stat.S_IFMT(found.st_mode)

    def entries(self) -> list[tuple[str, bool]]:
        """Return the names here in order, each with whether it is a directory (a link is none)."""
        with os.scandir(self.descriptor) as found:
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)

    def files(self) -> Iterator[tuple[tuple[str, ...], "Directory", str]]:
        """Yield every entry below that is no directory.

        The directories on the way, the last of them open, the name.
        """
        yield from self._files(())

    def _files(self, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], "Directory", str]]:
        for name, is_directory in self.entries():
            if not is_directory:
                yield above, self, name
            # It may be gone by now, which is as if it had never been there.
            elif (inner := self.found([name])) is not None:
                with inner:
                    yield from inner._files((*above, name))  # noqa: SLF001 - its own kind

    def first_line(self, name: str) -> str | None:
        """Return the first line of a plain file; None for anything else."""
        content = self._content(name, _HEAD)
        return first_line(content) if content is not None else None

    def read(self, name: str) -> bytes | None:
        """Return what a plain file holds.

        None for anything else, WorkspaceError where it is too large.
        """
        content = self._content(name, MOST + 1)
        if content is not None and len(content) > MOST:
            raise WorkspaceError(f"{self.path / name} has more than {MOST} bytes")
        return content

    def _content(self, name: str, most: int) -> bytes | None:
        # Looked at before it is opened, as opening a device may do something, and again afterwards.
        if self.kind(name) != stat.S_IFREG:
            return None
        try:
            descriptor = os.open(name, _FILE, dir_fd=self.descriptor)
        except OSError as error:
            # It was a file a moment ago.
            if error.errno in (errno.ELOOP, errno.ENOENT):
                return None
            error.filename = str(self.path / name)
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return _read_up_to(descriptor, most)
        finally:
            os.close(descriptor)

    def replace(
        self,
        name: str,
        content: bytes,
        *,
        lasting: bool = True,
        mode: int = 0o644,
    ) -> None:
        """Put content at a name in one step.

        The system call rename(2) takes the place of a link and does not follow it. Where it is not
        `lasting`, a failure of power may lose it, and leave an empty file.
        """
        # In the same directory, so that rename(2) does not cross a filesystem (EXDEV).
        temporary = f".{name[:_READABLE]}.{secrets.token_hex(4)}{SUFFIX}"
        try:
            self.create(temporary, content, lasting=lasting, mode=mode)
            os.rename(temporary, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException as error:
            if isinstance(error, OSError):
                self.explain(error, name)
            # Where nothing can be written, nothing can be removed either, and that is said already.
            with suppress(OSError):
                os.unlink(temporary, dir_fd=self.descriptor)
            raise

    def create(
        self,
        name: str,
        content: bytes,
        *,
        lasting: bool = False,
        mode: int = 0o644,
    ) -> None:
        """Write a file that is not there yet.

        Raises FileExistsError where anything has the name.
        """
        check_name(name)
        try:
            with os.fdopen(os.open(name, _NEW, mode=0o600, dir_fd=self.descriptor), "wb") as file:
                file.write(content)
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
                # At last, whatever the umask: nobody reads what is only half there.
                os.fchmod(file.fileno(), mode)
        except OSError as error:
            # A full disk has no name by itself.
            self.explain(error, name)
            raise

    def link(self, name: str, target: str) -> None:
        """Make a symbolic link that is not there yet."""
        check_name(name)
        os.symlink(target, name, dir_fd=self.descriptor)

    def put(self, path: str, content: bytes, *, lasting: bool = True) -> None:
        """Put content at a path below, as `replace` does, in directories that are made for it."""
        *steps, name = path.split("/")
        with self.making(steps) as folder:
            folder.replace(name, content, lasting=lasting)

    def clear(self, path: str) -> None:
        """Remove the file at a path below, and the directories that it leaves empty."""
        *steps, name = path.split("/")
        with self.below(steps) as folder:
            folder.remove(name)
        self.prune(steps)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self.descriptor)

    def prune(self, steps: Sequence[str]) -> None:
        """Remove a directory below that is empty, and those above it up to this one."""
        # From the innermost on: a directory is empty only once those in it are gone.
        for length in range(len(steps), 0, -1):
            above = self.found(steps[: length - 1])
            if above is None:
                continue
            with above:
                try:
                    os.rmdir(steps[length - 1], dir_fd=above.descriptor)
                except FileNotFoundError:
                    # Another run was faster.
                    continue
                except OSError as error:
                    # Somebody else has a file there, or is at work in it.
                    if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY):
                        return
                    raise


def check_name(name: str) -> None:
    """Raise WorkspaceError for what is no name of one entry of a directory."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise WorkspaceError(f"{name!r} is not a plain file name")


def first_line(content: bytes) -> str:
    """Return the first line of a content, without its end."""
    return content.partition(b"\n")[0].rstrip(b"\r").decode(errors="replace")


def split(path: Path) -> tuple[Path, str]:
    """Return the directory in which a path's last name is, and that name, both absolute."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    return whole.parent, whole.name


def _read_up_to(descriptor: int, most: int) -> bytes:
    parts = []
    left = most
    while left > 0:
        part = os.read(descriptor, min(left, 1 << 20))
        # It is shorter than it may be.
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _steps(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return a directory and the names from there to a path.

    From it on no part of the path may be a link.
    """
    # What the user names above the repository may lead through links, such as /home on some
    # machines.
    whole = PurePath(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow links
    base = _base(whole)
    while base != base.parent and not os.path.isdir(base):  # noqa: PTH112 - a pure path
        base = base.parent
    return Path(base), whole.relative_to(base).parts


def _base(whole: PurePath) -> PurePath:
    """Return the outermost directory on a path that may hold a repository.

    Else the directory that the path is in.
    """
    here = PurePath(os.getcwd())  # noqa: PTH109 - it is compared, not used
    for above in reversed(whole.parents):
        # The working directory never is a link itself (getcwd(3)). `/` is no repository, whoever is
        # in it.
        if above == here and here != here.parent:
            return above
        if is_top(above):
            return above
    if whole == here:
        return whole
    return whole.parent
