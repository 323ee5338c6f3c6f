"""A directory that is only read, by the paths in it.

What is outside, or in a hidden directory, does not exist here. It may be anybody's. Links are
followed as far as they stay inside; devices, sockets and pipes are never opened.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from krm_windows.system import walk
from krm_windows.system.directories import Directory
from krm_windows.system.reading import SUFFIXES, Budget


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files below `root`, an absolute path without links.

    Paths in it are relative, POSIX and normal. `left_out` says of a path which files are not there
    all the same, and neither are the directories that have no other. What is in the directories
    `elsewhere` is of another repository.
    """

    root: str
    left_out: Callable[[str], bool] | None = None
    elsewhere: tuple[str, ...] = ()
    _budget: Budget = field(default_factory=Budget, compare=False, repr=False)

    @classmethod
    def at(cls, path: Path) -> "Checkout":
        """Take the tree at a path of the machine."""
        return cls(os.path.realpath(path))

    def read(self, path: str) -> bytes | None:
        """Return what a plain file holds.

        None where there is none, or one that is outside or hidden. Raises WorkspaceError
        where it is too large, or all that was read is.
        """
        real = self.real(path)
        if real is None or real == "." or (self.left_out and self.left_out(path)):
            return None
        root = Path(self.root)
        content = Directory.at(root).read(real)
        if content is not None:
            self._budget.spend(root, real, content)
        return content

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory, inside."""
        real = self.real(path)
        if real is None or _is_dotted(real) or not Path(self.root, real).is_dir():
            return False
        return not self.is_absent(path)

    def is_absent(self, path: str) -> bool:
        """Whether a file that is on the disk, or a directory with all its files, is left out."""
        if self.left_out is None:
            return False
        place = Path(self.root, path)
        if not place.is_dir():
            return place.exists() and self.left_out(path)
        # Whatever patterns say: Git's own directory, with its many files, is in no artifact.
        if place.name == ".git":
            return True
        # Nothing of one without files is left out.
        return any(names for _, names in walk.walk(place)) and not any(self.files(path))

    def files(self, directory: str, *, hidden: bool = True) -> Iterator[str]:
        """Yield the files below a directory that are not left out, top down.

        Those of `hidden` directories are among them, or not.
        """
        root = Path(self.root)
        for folder, names in walk.walk(root / directory, hidden=hidden):
            for name in names:
                path = Path(folder, name).relative_to(root).as_posix()
                if self.left_out is None or not self.left_out(path):
                    yield path

    def real(self, path: str) -> str | None:
        """Return a path without links, `.` for the root itself.

        None where it leads outside or into what is hidden.
        """
        real = self._followed(path)
        if real is None or _is_hidden(real):
            return None
        return real

    def refusal(self, path: str) -> str | None:
        """Say why what a path leads to is not read; None where it may be, or nothing is there."""
        if path.count("/") > walk.DEEPEST:
            return f"is more than {walk.DEEPEST} directories deep, so it is not read"
        if any(f"{path}/".startswith(f"{each}/") for each in self.elsewhere):
            return "is included from another repository, so it is not read"
        # An absolute path means this machine.
        real = None if path.startswith("/") else self._followed(path)
        if real is None:
            return "leads out of the repository, so it is not followed"
        if _is_hidden(real):
            return "is in a hidden directory, which is not read"
        try:
            # Paths are texts here: thousands are asked for, and a `Path` takes longer.
            mode = os.lstat(os.path.join(self.root, real)).st_mode  # noqa: PTH118
        except (OSError, ValueError):
            return None
        found = None
        if stat.S_ISDIR(mode):
            found = "is a hidden directory, which is not read" if _is_dotted(real) else None
        elif not stat.S_ISREG(mode):
            found = "is neither a file nor a directory, so it is not read"
        return found

    def names(self, path: str) -> list[str]:
        """Return what a directory holds, in order; nothing of one that is outside."""
        real = self.real(path)
        if real is None:
            return []
        try:
            # Likewise: a hot path.
            found = sorted(os.listdir(os.path.join(self.root, real)))  # noqa: PTH118, PTH208
        except OSError:
            return []
        if self.left_out is None:
            return found
        return [name for name in found if not self.is_absent(os.path.normpath(f"{path}/{name}"))]

    def directories(self, pattern: str) -> list[str]:
        """Return the directories inside that a glob pattern matches, in order.

        Links are not followed.
        """
        found = walk.directories(self.root, os.path.normpath(pattern))
        return sorted(path for path in found if self.is_directory(path))

    def manifests(self) -> Iterator[str]:
        """Yield every YAML file that is in no hidden directory, top down.

        Links to directories are not followed.
        """
        return (path for path in self.files("", hidden=False) if path.endswith(SUFFIXES))

    def _followed(self, path: str) -> str | None:
        """Return a path without links, None where it leads outside."""
        if "\0" in path or path.count("/") > walk.DEEPEST:
            return None
        real = _resolved(self.root, path)
        if real == self.root:
            return "."
        # Only the root of the machine ends in a slash.
        inside = f"{self.root.rstrip('/')}/"
        return real.removeprefix(inside) if real.startswith(inside) else None


def _is_dotted(path: str) -> bool:
    """Whether a path ends in a hidden name."""
    return path != "." and path.rpartition("/")[2].startswith(".")


def _is_hidden(path: str) -> bool:
    """Whether a path leads through a hidden directory, or to the `.git` file of a worktree.

    A submodule has such a file, too.
    """
    *folders, name = path.split("/")
    return name == ".git" or any(folder.startswith(".") for folder in folders)


@lru_cache(maxsize=65536)
def _resolved(root: str, path: str) -> str:
    return os.path.realpath(os.path.join(root, path))  # noqa: PTH118 - a hot path
