"""A directory of which some files are ours.

Known by their first line, replaced atomically, never another's. A file is written beside its place
and renamed onto it, so that whoever reads sees the old or the new one (rename(2)). What a run that
was killed left behind is named so that the next one knows and removes it.
"""

import difflib
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from krm_windows import escape
from krm_windows.system import hidden_manifests
from krm_windows.system.directories import SUFFIX, Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.walk import walk

LEFTOVER = re.compile(rf"\..+\.\w{{8}}{re.escape(SUFFIX)}")
"""The name of a file that was being written when a run was killed."""
Files = Mapping[str, bytes]
"""Contents by path, relative to the directory and with `/` on every system."""


class Changes(NamedTuple):
    """How many files were written, or would be, and how many removed."""

    written: int = 0
    removed: int = 0


_NO_FOLDER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory in which every file is ours whose first line `is_ours`.

    Those are right in it, and in its sub-directories whose names match `inner`; or, if there are
    `branches`, anywhere in these directories below it.
    """

    path: Path
    is_ours: Callable[[str], bool]
    inner: re.Pattern[str] = _NO_FOLDER
    branches: tuple[str, ...] = ()

    def read(self) -> dict[str, bytes]:
        """Return our files in order of their paths."""
        root = Directory.named(self.path)
        if not root.exists():
            return {}
        found = {}
        for path in sorted(self._paths()):
            if not _is_leftover(path) and self.is_ours(root.first_line(path)):
                found[path] = root.read(path) or b""
        return found

    def stale(self, wanted: Files) -> dict[str, str]:
        """Return the unified diff of each file that is not as wanted, by name and in order."""
        return stale(self.read(), wanted)

    def write(self, wanted: Files) -> Changes:
        """Make our files be the wanted ones, while no other run writes here."""
        with Directory.named(self.path).alone():
            return self.put(self.read(), wanted)

    def put(self, there: Files, wanted: Files) -> Changes:
        """Make our files, as `read` gave them, be the wanted ones; say how many changed.

        Raises WorkspaceError before anything is touched. Nobody else may write here meanwhile.
        """
        root = Directory.named(self.path)
        # Contents decide, and not times: what is right already keeps its own, which make and the
        # like go by.
        changed = [path for path in sorted(wanted) if there.get(path) != wanted[path]]
        gone = [path for path in there if path not in wanted]
        # All is claimed before anything is written: a file in the way leaves the rest.
        for path in changed:
            self._claim(root, path, there)
        for path in changed:
            # Not forced onto the disk one by one where there are many, as Git does not either: the
            # next run compares contents.
            root.put(path, wanted[path], lasting=not self.branches)
        left = [path for path in self._paths() if _is_leftover(path)]
        for path in (*gone, *(path for path in left if root.kind(path) == stat.S_IFREG)):
            root.remove(path)
        return Changes(len(changed), len(gone))

    def _paths(self) -> Iterator[str]:
        """Yield the paths of what may be ours."""
        tops = self.branches or ("", *filter(self.inner.fullmatch, folders(self.path)))
        for top in tops:
            for folder, names in walk(self.path / top):
                for name in names:
                    yield Path(folder, name).relative_to(self.path).as_posix()
                # What is deeper is somebody else's.
                if not self.branches:
                    break

    def _claim(self, root: Directory, path: str, there: Files) -> None:
        """Refuse what is no path here, and one at which something is that is not ours."""
        above = posixpath.dirname(path)
        if self.branches:
            inside = path.startswith(tuple(f"{branch}/" for branch in self.branches))
        else:
            inside = not above or self.inner.fullmatch(above) is not None
        if not inside:
            raise WorkspaceError(f"{path!r} is not the path of a file in {self.path}")
        kind = root.kind(path)
        if path in there:
            return
        if kind is None:
            hidden_manifests.check(root, path, self.is_ours)
        # Of a new file that was not forced onto the disk, a failure of power leaves an empty one,
        # which is nobody's.
        elif not self.branches or root.read(path) != b"":
            raise WorkspaceError(
                f"{root.path / path} is in the way: it was not written by this command; move it "
                "away, or name another directory"
            )


def _is_leftover(path: str) -> bool:
    return LEFTOVER.fullmatch(posixpath.basename(path)) is not None


def first_line(path: Path) -> str:
    """Return the first line of a file; empty for anything that is no plain file."""
    return Directory.at(path.parent).first_line(path.name)


def stale(there: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> dict[str, str]:
    """Return the unified diff of each file that is not as wanted, by path and in order."""
    diffs = {
        path: "".join(difference(path, there.get(path, b""), wanted.get(path, b"")))
        for path in sorted({*wanted, *there})
    }
    return {path: diff for path, diff in diffs.items() if diff}


def difference(name: str, old: bytes, new: bytes) -> Iterator[str]:
    """Yield the lines of the unified diff of a file, none where nothing differs."""
    # Any bytes may be there; a diff is for people, who see what could not be read.
    before, after = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    shown = escape.word(name)
    return difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}")


def put(folder: Path, wanted: Mapping[str, bytes], mode: int = 0o644) -> None:
    """Put files at paths below a directory, each in one step and none through a link."""
    with Directory.named(folder).alone() as directory:
        for path, content in wanted.items():
            directory.put(path, content, mode=mode)


def folders(path: Path) -> list[str]:
    """Return the names of the directories in a directory, sorted; none where there is none."""
    if not path.is_dir():
        return []
    return sorted(found.name for found in path.iterdir() if found.is_dir())
