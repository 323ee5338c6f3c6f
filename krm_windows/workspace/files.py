"""A directory of which some files are ours: told by their first line, replaced atomically, never another's.

A file is written beside its place and renamed onto it, so that whoever reads sees the old or the new one (rename(2)).
"""

import difflib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from krm_windows import escape
from krm_windows.workspace.errors import WorkspaceError

_SUFFIX = ".krm-windows"
_READABLE = 200  # so much of a name goes into that of what lies beside it, as a name may have 255 bytes
LEFTOVER = re.compile(rf"\..+\.\w{{8}}{re.escape(_SUFFIX)}")
"""The name of a file that was being written when a run was killed."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory in which every file that begins with one of the lines `headers` is ours.

    A `deep` one has such files in its sub-directories, too: their names are `sub-directory/file`.
    """

    path: Path
    headers: frozenset[str]
    deep: bool = False

    def read(self) -> dict[str, bytes]:
        """Return the content of our files by name."""
        return {name: (self.path / name).read_bytes() for name in self._ours()}

    def stale(self, wanted: Mapping[str, bytes]) -> Iterator[str]:
        """Yield the unified diff of each file that differs from what is wanted, in order of their names."""
        for name in sorted({*wanted, *self._ours()}):
            yield from difference(name, self._text(name).encode(), wanted.get(name, b""))

    def write(self, wanted: Mapping[str, bytes]) -> None:
        """Make our files be the wanted ones; raises WorkspaceError before anything is touched."""
        for name in wanted:
            self._claim(name)
        for folder in {(self.path / name).parent for name in wanted} | {self.path}:
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in sorted(wanted.items()):
            if self._text(name).encode() != content:
                replace(self.path / name, content)
        for name in self._ours():
            if name not in wanted:
                self._remove(self.path / name)
        for path in list(self.path.iterdir()):
            if LEFTOVER.fullmatch(path.name):
                path.unlink()

    def _remove(self, path: Path) -> None:
        """Remove a file, and the sub-directory that it leaves empty."""
        path.unlink()
        if path.parent != self.path and not any(path.parent.iterdir()):
            path.parent.rmdir()

    def _claim(self, name: str) -> None:
        path = self.path / name
        *folders, _ = parts = name.split("/")
        if len(folders) > self.deep or any(part in ("", ".", "..") for part in parts):
            raise WorkspaceError(f"{name!r} is no plain file name")
        if folders and (path.parent.is_symlink() or (path.parent.exists() and not path.parent.is_dir())):
            raise WorkspaceError(f"{path.parent} stands in the way: it is no directory")
        if (path.is_symlink() or path.exists()) and not self._is_ours(path):
            raise WorkspaceError(f"{path} stands in the way: it was not written from here")

    def _ours(self) -> list[str]:
        if not self.path.is_dir():
            return []
        below = [found for found in self.path.iterdir() if self.deep and found.is_dir() and not found.is_symlink()]
        found = (path for folder in (self.path, *below) for path in folder.iterdir() if self._is_ours(path))
        return sorted(path.relative_to(self.path).as_posix() for path in found)

    def _is_ours(self, path: Path) -> bool:
        return _first_line(path) in self.headers

    def _text(self, name: str) -> str:
        path = self.path / name
        return path.read_bytes().decode(errors="replace") if self._is_ours(path) else ""


def first_lines(path: Path) -> frozenset[str]:
    """Return the first line of a file, or of every file in a directory, none where there is neither."""
    found = map(_first_line, path.iterdir() if path.is_dir() else [path])
    return frozenset(line for line in found if line is not None)


def _first_line(path: Path) -> str | None:
    """Return the first line of a file; None for anything that is no plain file."""
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        return file.readline().rstrip(b"\r\n").decode(errors="replace")


def difference(name: str, old: bytes, new: bytes) -> Iterator[str]:
    """Yield the lines of the unified diff of a file, none where nothing differs."""
    before, after = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    shown = escape.word(name)
    return difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}")


def replace(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Put content at a path in one step, with the rights a new file would have.

    Where it is not `lasting`, a failure of power may lose it, and leave an empty file.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:_READABLE]}.", suffix=_SUFFIX)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def folders(path: Path) -> list[str]:
    """Return the names of the directories in a directory, sorted; none where there is none."""
    return sorted(found.name for found in (path.iterdir() if path.is_dir() else ()) if found.is_dir())
