"""A directory of which some files are ours.

Known by their first line, replaced atomically, never another's. A file is written beside its place
and renamed onto it, so that whoever reads sees the old or the new one (rename(2)).
"""

import difflib
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from krm_windows import escape
from krm_windows.system import hidden_manifests, locks
from krm_windows.system.directories import SUFFIX, Directory
from krm_windows.system.errors import WorkspaceError

LEFTOVER = re.compile(rf"\..+\.\w{{8}}{re.escape(SUFFIX)}")
"""The name of a file that was being written when a run was killed."""


class Changes(NamedTuple):
    """How many files were written, or would be, and how many removed."""

    written: int = 0
    removed: int = 0


_NO_FOLDER = re.compile("(?!)")


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory in which every file that begins with one of the lines `headers` is ours.

    Those sub-directories have such files, too, whose names match `inner`: `sub-directory/file`.
    """

    path: Path
    headers: frozenset[str]
    inner: re.Pattern[str] = _NO_FOLDER

    def read(self) -> dict[str, bytes]:
        """Return the content of our files by name."""
        directory = Directory.named(self.path)
        if directory is None:
            return {}
        with directory:
            return self._read(directory)

    def stale(self, wanted: Mapping[str, bytes]) -> dict[str, str]:
        """Return the unified diff of each file that is not as wanted, by name and in order."""
        return stale(self.read(), wanted)

    def write(self, wanted: Mapping[str, bytes]) -> Changes:
        """Make our files be the wanted ones, while no other run writes here.

        Raises WorkspaceError before anything is touched.
        """
        for name in wanted:
            self._check(name)
        with locks.alone(self.path) as directory:
            for name in wanted:
                self._claim(directory, name)
            # All is claimed before anything is written: a file in the way leaves the rest as it
            # was.
            there = self._read(directory)
            # What is right already keeps its time of change, which make and the like go by.
            changed = [name for name in sorted(wanted) if there.get(name) != wanted[name]]
            for name in changed:
                directory.put(name, wanted[name])
            gone = [name for name in there if name not in wanted]
            for name in gone:
                directory.clear(name)
            _remove_leftovers(directory)
        return Changes(len(changed), len(gone))

    def _check(self, name: str) -> None:
        """Refuse what is no path of a file here."""
        *folders, _ = parts = name.split("/")
        inside = not folders or self.inner.fullmatch("/".join(folders))
        if not inside or any(part in ("", ".", "..") for part in parts):
            raise WorkspaceError(f"{name!r} is not a plain file name")

    def _claim(self, directory: Directory, name: str) -> None:
        """Refuse a path at which something exists that is not ours."""
        *folders, last = name.split("/")
        try:
            inner = directory.below(folders)
        except FileNotFoundError:
            return
        with inner:
            if inner.kind(last) is None:
                hidden_manifests.check(inner, last, self.headers.__contains__)
            elif inner.first_line(last) not in self.headers:
                raise WorkspaceError(
                    f"{inner.path / last} is in the way: it was not written by this command; move "
                    "it away, or name another directory"
                )

    def _read(self, directory: Directory) -> dict[str, bytes]:
        """Return the content of our files by name, in order."""
        found = self._ours(directory, "")
        for name, is_directory in directory.entries():
            is_inner = is_directory and self.inner.fullmatch(name)
            inner = directory.found([name]) if is_inner else None
            if inner is not None:
                with inner:
                    found |= self._ours(inner, f"{name}/")
        return dict(sorted(found.items()))

    def _ours(
        self,
        directory: Directory,
        prefix: str,
    ) -> dict[str, bytes]:
        found = {}
        for name, is_directory in directory.entries():
            if is_directory or directory.first_line(name) not in self.headers:
                continue
            content = directory.read(name)
            if content is not None:
                found[f"{prefix}{name}"] = content
        return found


def _remove_leftovers(directory: Directory) -> None:
    """Remove what a run that was killed has left half written."""
    for name, is_directory in directory.entries():
        # The lock is ours, so no other run is still writing it.
        if not is_directory and LEFTOVER.fullmatch(name):
            directory.remove(name)


def first_lines(path: Path) -> frozenset[str]:
    """Return the first line of every plain file in a directory that a user named for output.

    Empty where there is no such directory.
    """
    directory = Directory.named(path)
    if directory is None:
        return frozenset()
    with directory:
        found = [
            directory.first_line(name)
            for name, is_directory in directory.entries()
            if not is_directory
        ]
    return frozenset(line for line in found if line is not None)


def first_line(path: Path) -> str | None:
    """Return the first line of a file; None for anything that is no plain file."""
    with Directory.at(path.parent) as directory:
        return directory.first_line(path.name)


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


def put(folder: Path, wanted: Mapping[str, bytes]) -> None:
    """Put files at paths below a directory, each in one step and none through a link."""
    with locks.alone(folder) as directory:
        for path, content in wanted.items():
            directory.put(path, content)


def put_program(folder: Path, path: PurePath, content: bytes) -> None:
    """Put a program at a path below a directory that a user named, over any file there."""
    with locks.alone(folder) as directory, directory.making(path.parts[:-1]) as inner:
        if inner.kind(path.name) not in (None, stat.S_IFREG):
            raise WorkspaceError(
                f"{folder / path} is in the way: it is not a regular file; move it away"
            )
        inner.replace(path.name, content, mode=0o755)


def folders(path: Path) -> list[str]:
    """Return the names of the directories in a directory, sorted; none where there is none."""
    if not path.is_dir():
        return []
    return sorted(found.name for found in path.iterdir() if found.is_dir())
