"""Which files below a directory are read.

None that is hidden, or that a link leads to somewhere else.
"""

from collections.abc import Iterator
from pathlib import Path

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.walk import walk

SUFFIXES = (".yaml", ".yml")
# The names by which kustomize knows its own file, in the order in which it looks (api/konfig).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


MOST = 1 << 30
"""So many bytes of one directory are read at most."""


class Budget:
    """How much may still be read of one directory, each file counted once."""

    def __init__(self, left: int = MOST) -> None:
        """Begin with so many bytes."""
        self._left = left
        self._known: set[str] = set()

    def spend(self, root: Path, path: str, content: bytes) -> None:
        """Count a file; raises WorkspaceError where that is too much."""
        # Several builds may read one file; it costs memory once.
        if path not in self._known:
            self._known.add(path)
            self._left -= len(content)
        if self._left < 0:
            raise WorkspaceError(
                f"{root}: contains more than {MOST >> 20} MiB, the most that is read"
            )


def is_kustomization(path: Path) -> bool:
    """Whether a directory is to be built."""
    return any((path / name).is_file() for name in KUSTOMIZATIONS)


def manifests(path: Path) -> Iterator[Path]:
    """Yield the YAML files below a directory in order of their paths, or the file itself.

    A link to a file counts where it stays below; hidden directories, and links to directories, do
    not.
    """
    if path.is_file():
        yield path
        return
    root = path.resolve()
    yaml = (file for file in _files(path) if file.name.endswith(SUFFIXES))
    yield from sorted(file for file in yaml if file.is_file() and _stays(root, file))


def kustomizations(path: Path) -> Iterator[Path]:
    """Yield the file of every kustomization in a directory or below it."""
    return (file for file in _files(path) if file.name in KUSTOMIZATIONS and file.is_file())


def _files(path: Path) -> Iterator[Path]:
    """Yield what is in a directory and below it, in order.

    But for what is hidden, and links to directories.
    """
    for folder, names in walk(path, hidden=False):
        for name in names:
            yield Path(folder, name)


def _stays(root: Path, file: Path) -> bool:
    """Whether a file is below a directory, and in no hidden one of it, wherever links lead."""
    real = file.resolve()
    if not real.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in real.relative_to(root).parts[:-1])
