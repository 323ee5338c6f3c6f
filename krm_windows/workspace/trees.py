"""Directories below one, of which some files are ours: told by their first line, each replaced in one step.

Every file is the old or the new one at any time (rename(2)). What a run that was killed left behind is named so that
the next one knows and removes it. No file is forced onto the disk, as Git does not either: that would take longer than
all the rest, and the next run compares contents.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from krm_windows.workspace.errors import WorkspaceError
from krm_windows.workspace.files import LEFTOVER, difference, replace

Files = Mapping[str, bytes]
"""Contents by path, relative to the directory and with `/` on every system."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The directories `branches` below `path`, in which every file whose first line `is_ours` is ours."""

    path: Path
    branches: tuple[str, ...]
    is_ours: Callable[[str], bool]

    def read(self) -> dict[str, bytes]:
        """Return our files in order of their paths."""
        contents = ((path, (self.path / path).read_bytes()) for path in self._files(leftovers=False))
        return dict(sorted((path, content) for path, content in contents if self._is_ours(content)))

    def stale(self, there: Files, wanted: Files) -> Iterator[str]:
        """Yield the diff of each of our files, as `read` gave them, that is not as wanted, in order of paths."""
        for path in sorted({*wanted, *there}):
            yield from difference(path, there.get(path, b""), wanted.get(path, b""))

    def write(self, there: Files, wanted: Files) -> bool:
        """Make our files, as `read` gave them, be the wanted ones; say whether that took a change.

        Raises WorkspaceError before anything is touched.
        """
        changed = {path: content for path, content in sorted(wanted.items()) if there.get(path) != content}
        for path in changed:
            self._claim(path, there)
        for path, content in changed.items():
            (self.path / path).parent.mkdir(parents=True, exist_ok=True)
            replace(self.path / path, content, lasting=False)
        gone = [path for path in there if path not in wanted]
        self._remove(gone)
        self.tidy()
        return bool(changed or gone)

    def tidy(self) -> None:
        """Remove what a run that was killed left behind."""
        self._remove(self._files(leftovers=True))

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            (self.path / path).unlink()
            self._prune((self.path / path).parent)

    def _files(self, *, leftovers: bool) -> list[str]:
        """Return the paths of the plain files in the branches: of those left behind, or of all others."""
        return [
            f"{folder}/{name}"
            for branch in self.branches
            if not self._is_linked(branch)
            for folder, names in _folders(self.path, branch)
            for name in names
            if bool(LEFTOVER.fullmatch(name)) == leftovers and _is_plain(self.path / folder / name)
        ]

    def _is_linked(self, path: str) -> bool:
        """Whether a directory of the tree is a link, or lies behind one; the tree itself is what its user named."""
        return any((self.path / step).is_symlink() for step in (PurePosixPath(path), *PurePosixPath(path).parents[:-1]))

    def _is_ours(self, content: bytes) -> bool:
        return self.is_ours(content.partition(b"\n")[0].rstrip(b"\r").decode(errors="replace"))

    def _claim(self, path: str, there: Files) -> None:
        """Refuse a path that leads elsewhere, or at which something stands that is not ours."""
        folder, _, name = path.rpartition("/")
        if not name or ".." in path.split("/") or not f"{folder}/".startswith(tuple(f"{b}/" for b in self.branches)):
            raise WorkspaceError(f"{path!r} is no path in {', '.join(self.branches)} of {self.path}")
        if self._is_linked(folder):
            raise WorkspaceError(f"{self.path / path} lies behind a link, which may lead elsewhere")
        if path not in there and os.path.lexists(self.path / path) and not _is_empty(self.path / path):
            raise WorkspaceError(f"{self.path / path} stands in the way: it was not rendered")

    def _prune(self, folder: Path) -> None:
        """Remove a directory that is empty, and those above it within the tree."""
        while folder != self.path and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def _folders(path: Path, branch: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the directories of a branch, relative to the tree, each with the names in it."""
    for folder, _, names in os.walk(path / branch):
        yield Path(folder).relative_to(path).as_posix(), names


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_empty(path: Path) -> bool:
    """Whether a file is nobody's: what a failure of power leaves of a new one."""
    return _is_plain(path) and not path.stat().st_size
