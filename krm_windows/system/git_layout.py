"""Where a checked-out repository keeps what Git knows, found without Git.

Nothing of a repository is in force yet. As gitrepository-layout(5) has it: `.git` in a directory
above is Git's own directory, or a file that names it (a worktree of `git worktree`, a submodule). A
directory that only looks like a bare repository is none: it is content.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.tops import is_top

_OWN = ("HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "config.worktree")
"""What libgit2 reads of a working tree's own (gitrepository-layout(5))."""
_COMMON = ("objects", "refs", "logs", "config", "packed-refs", "shallow")
"""What it reads of a repository."""
_BARE = ("HEAD", "objects", "refs")
"""What Git takes for a repository by itself (gitrepository-layout(5))."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Absolute paths without links.

    The top of the working tree, Git's directory of it, and that of all worktrees.
    """

    top: Path
    own: Path
    common: Path

    def read(self, path: str) -> bytes:
        """Return what a plain file of Git's directory of all worktrees holds, if it is there."""
        return Directory.at(self.common).read(path) or b""

    def shallow(self) -> frozenset[str]:
        """Return the names of the commits at which a shallow clone ends (gitformat-shallow)."""
        return frozenset(self.read("shallow").decode("ascii", errors="replace").split())


def find(directory: Path, *, bare: bool = False) -> Layout:
    """Return the layout of the repository that a directory is in.

    Raises WorkspaceError where it is in none, or in one without a working tree unless `bare`: then
    the rest of the path is one in its commits.
    """
    # Without links, so that the directories above are those that it really is in.
    start = Path(os.path.realpath(directory))
    exists = start.is_dir()
    for top in (start, *start.parents):
        if exists and is_top(top):
            return _layout(top)
        if bare and all((top / name).exists() for name in _BARE):
            return Layout(top, top, top)
    if not exists:
        raise WorkspaceError(f"{directory}: no such directory")
    raise WorkspaceError(
        f"{directory}: not a git repository with a working tree (or any of its parent directories)"
    )


def _layout(top: Path) -> Layout:
    place = top / ".git"
    kind = place.lstat().st_mode
    if stat.S_ISDIR(kind):
        return Layout(top, place, place)
    if not stat.S_ISREG(kind):
        raise WorkspaceError(f"{place}: must be a directory or a file; links are not followed")
    # A worktree has the line `gitdir: /repo/.git/worktrees/w`, a submodule a relative path. The
    # directory of a worktree names that of the repository; that of a submodule is one itself.
    own = _named(place, "gitdir: ")
    shared = own / "commondir"
    return Layout(top, own, _named(shared, "") if os.path.lexists(shared) else own)


def _named(file: Path, prefix: str) -> Path:
    """Return the directory that a file names."""
    text = Directory.at(file.parent).first_line(file.name)
    if not text.startswith(prefix) or "\0" in text:
        raise WorkspaceError(f"{file}: must contain the path of a git directory")
    # A relative path begins at the file, wherever the command runs (gitrepository-layout(5)).
    found = Path(os.path.realpath(file.parent / text.removeprefix(prefix)))
    if not found.is_dir():
        raise WorkspaceError(f"{file}: names {found}, which is not a directory")
    return found


def check(layout: Layout) -> None:
    """Refuse what is elsewhere, and what blocks whoever opens it; raises WorkspaceError."""
    # A borrowed object database could be anywhere on this machine (git-clone(1), --shared).
    if layout.read("objects/info/alternates"):
        raise WorkspaceError(
            f"{layout.top}: uses objects of another repository (objects/info/alternates), which "
            "is not supported; clone it with --dissociate, or without --reference and --shared"
        )
    if layout.read("info/grafts"):
        raise WorkspaceError(
            f"{layout.top}: has grafts (.git/info/grafts), which are not supported"
        )
    waiting = [*(layout.common / name for name in _COMMON), *(layout.own / name for name in _OWN)]
    while waiting:
        path = waiting.pop()
        if path.is_symlink():
            raise WorkspaceError(f"{path}: is a symbolic link, which is not followed")
        if path.is_dir():
            waiting += path.iterdir()
        elif path.exists() and not path.is_file():
            raise WorkspaceError(f"{path}: is not a regular file, so it is not opened")


def is_object_name(text: str) -> bool:
    """Whether a text is the whole name of an object, in SHA-1 or SHA-256."""
    # 40 digits are SHA-1, 64 SHA-256; Git writes both in lower case.
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None
