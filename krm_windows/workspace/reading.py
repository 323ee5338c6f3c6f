"""Which files below a directory are read."""

from collections.abc import Iterator
from pathlib import Path

from krm_windows.workspace.walk import walk

SUFFIXES = (".yaml", ".yml")
# The names by which kustomize knows its own file, in the order in which it looks (api/konfig).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def manifests(path: Path) -> Iterator[Path]:
    """Yield the YAML files below a directory in order of their paths, or the file itself; see `walk`."""
    if path.is_file():
        yield path
        return
    found = (Path(folder, name) for folder, names in walk(path) for name in names if name.endswith(SUFFIXES))
    yield from sorted(file for file in found if file.is_file())


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path (with slashes) and content of files below a directory: YAML, JSON and kustomizations.

    Hidden directories, such as Git's own, are none of it, and links are not followed.
    """
    for directory, files in walk(path, hidden=False):
        for name in files:
            file = Path(directory) / name
            if (
                (file.suffix in (*SUFFIXES, ".json") or name in KUSTOMIZATIONS)
                and file.is_file()
                and not file.is_symlink()
            ):
                yield file.relative_to(path).as_posix(), file.read_bytes()
