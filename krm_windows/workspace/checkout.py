"""A directory that is only read, by the paths in it: what a link leads to outside of it does not exist here."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from krm_windows.workspace import walk
from krm_windows.workspace.reading import SUFFIXES

_DOTS = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files below `root`, an absolute path without links; paths in it are relative, POSIX and normal."""

    root: str

    @classmethod
    def at(cls, path: Path) -> "Checkout":
        """Take the tree at a path of the machine."""
        return cls(os.path.realpath(path))

    def read(self, path: str) -> bytes | None:
        """Return what a file holds; None where there is no file, or one that lies outside."""
        real = self.real(path)
        place = Path(self.root, real) if real is not None else None
        return place.read_bytes() if place is not None and place.is_file() else None

    def is_directory(self, path: str) -> bool:
        """Whether there is a directory, inside."""
        real = self.real(path)
        return real is not None and Path(self.root, real).is_dir()

    def real(self, path: str) -> str | None:
        """Return a path without links, `.` for the root itself; None where it leads outside."""
        above, name = os.path.split(path)
        place = os.path.join(_resolved(self.root, above), name)  # noqa: PTH118 - a hot path
        real = os.path.realpath(place) if name in _DOTS or os.path.islink(place) else place  # noqa: PTH114 - likewise
        if real == self.root:
            return "."
        inside = self.root if self.root.endswith("/") else f"{self.root}/"
        return real[len(inside) :] if real.startswith(inside) else None

    def names(self, path: str) -> list[str]:
        """Return what a directory holds, in order."""
        return sorted(os.listdir(os.path.join(self.root, path)))  # noqa: PTH118, PTH208 - a hot path

    def directories(self, pattern: str) -> list[str]:
        """Return the directories inside that a glob pattern matches, in order; links are not followed."""
        return sorted(walk.directories(self.root, pattern))

    def manifests(self) -> Iterator[str]:
        """Yield every YAML file that lies in no hidden directory, top down; links to directories are not followed."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), self.root)  # noqa: PTH118 - a hot path


@lru_cache(maxsize=65536)
def _resolved(root: str, directory: str) -> str:
    """Return a directory without links; most paths that are asked for share few of them."""
    return os.path.realpath(os.path.join(root, directory))  # noqa: PTH118 - a hot path
