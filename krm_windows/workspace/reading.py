"""Which files below a directory are read."""

import os
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".yaml", ".yml")
# The names by which kustomize knows its own file, in the order in which it looks (api/konfig).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def manifests(path: Path) -> Iterator[Path]:
    """Yield the YAML files below a directory in order of their paths, or the file itself."""
    if path.is_file():
        yield path
        return
    yield from sorted(found for found in path.rglob("*") if found.suffix in SUFFIXES and found.is_file())


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path (with slashes) and content of files below a directory: YAML, JSON and kustomizations.

    Hidden directories, such as Git's own, are none of it, and links are not followed.
    """
    for directory, below, files in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(files):
            file = Path(directory) / name
            if (
                (file.suffix in (*SUFFIXES, ".json") or name in KUSTOMIZATIONS)
                and file.is_file()
                and not file.is_symlink()
            ):
                yield file.relative_to(path).as_posix(), file.read_bytes()
