"""Directories below one, of which some files are ours.

Known by their first line, each replaced in one step. Every file is the old or the new one at any
time (rename(2)). What a run that was killed left behind is named so that the next one knows and
removes it. No file is forced onto the disk, as Git does not either: that would take longer than all
the rest, and the next run compares contents.
"""

import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import hidden_manifests
from krm_windows.system.directories import Directory, first_line
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import LEFTOVER, Changes

Files = Mapping[str, bytes]
"""Contents by path, relative to the directory and with `/` on every system."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The directories `branches` below `path`.

    Every file in them whose first line `is_ours` is ours.
    """

    path: Path
    branches: tuple[str, ...]
    is_ours: Callable[[str], bool]

    def read(self) -> dict[str, bytes]:
        """Return our files in order of their paths."""
        root = Directory.named(self.path)
        if root is None:
            return {}
        found = {}
        with root:
            for path, folder, name in self._entries(root):
                content = None if LEFTOVER.fullmatch(name) else folder.read(name)
                if content is not None and self.is_ours(first_line(content)):
                    found[path] = content
        return dict(sorted(found.items()))

    def write(self, there: Files, wanted: Files) -> Changes:
        """Make our files, as `read` gave them, be the wanted ones; say how many changed.

        Raises WorkspaceError before anything is touched. Nobody else may write into these branches
        meanwhile: that is for the run to see to, which has a tree of many branches (`locks`).
        """
        # Contents decide, and not times, which a checkout sets anew.
        changed = {
            path: content for path, content in sorted(wanted.items()) if there.get(path) != content
        }
        for path in changed:
            self._check(path)
        gone = [path for path in there if path not in wanted]
        if changed:
            with Directory.made(self.path) as root:
                for path in changed:
                    self._claim(root, path, there)
                for path, content in changed.items():
                    root.put(path, content, lasting=False)
        self._remove(gone)
        self.tidy()
        return Changes(len(changed), len(gone))

    def tidy(self) -> None:
        """Remove what a run that was killed left behind."""
        root = Directory.named(self.path)
        if root is None:
            return
        with root:
            left = [
                path
                for path, folder, name in self._entries(root)
                if LEFTOVER.fullmatch(name) and folder.kind(name) == stat.S_IFREG
            ]
        self._remove(left)

    def _entries(self, root: Directory) -> Iterator[tuple[str, Directory, str]]:
        """Yield what is in the branches and is no directory.

        Its path, its directory and its name there.
        """
        for branch in self.branches:
            folder = root.found(branch.split("/"))
            if folder is None:
                continue
            with folder:
                for above, inner, name in folder.files():
                    yield "/".join((branch, *above, name)), inner, name

    def _check(self, path: str) -> None:
        """Refuse what is not a path in the branches."""
        inside = any(path.startswith(f"{branch}/") for branch in self.branches)
        if not inside or any(name in ("", ".", "..") for name in path.split("/")):
            raise WorkspaceError(
                f"{path!r} is not a path in {', '.join(self.branches)} of {self.path}"
            )

    def _claim(self, root: Directory, path: str, there: Files) -> None:
        """Refuse a path that leads elsewhere, or at which something exists that is not ours."""
        *steps, name = path.split("/")
        try:
            folder = root.below(steps)
        except FileNotFoundError:
            return
        with folder:
            # It is ours.
            if path in there:
                return
            if folder.kind(name) is None:
                hidden_manifests.check(folder, name, self.is_ours)
                return
            # A failure of power leaves an empty file of a new one, which is nobody's.
            if folder.read(name) != b"":
                raise WorkspaceError(
                    f"{self.path / path} is in the way: it was not rendered by krm-windows; move "
                    "it away, or name another directory"
                )

    def _remove(self, paths: Sequence[str]) -> None:
        """Remove files, and the directories that they leave empty."""
        root = Directory.named(self.path) if paths else None
        if root is None:
            return
        with root:
            for path in paths:
                root.clear(path)
