"""Which files below a directory are read: none that is hidden, or that a link leads to somewhere else."""

import os
from collections.abc import Iterator
from pathlib import Path

from krm_windows.workspace.beneath import Budget, read_plain

SUFFIXES = (".yaml", ".yml")
# The names by which kustomize knows its own file, in the order in which it looks (api/konfig).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")


def manifests(path: Path) -> Iterator[Path]:
    """Yield the YAML files below a directory in order of their paths, or the file itself.

    A link to a file counts where it stays below; hidden directories, and links to directories, do not.
    """
    if path.is_file():
        yield path
        return
    root = path.resolve()
    found = []
    for folder, name in walk(path):
        file = folder / name
        if name.endswith(SUFFIXES) and file.is_file() and _stays(root, file):
            found.append(file)
    yield from sorted(found)


def kustomizations(path: Path) -> Iterator[Path]:
    """Yield the file of every kustomization in a directory or below it."""
    for folder, name in walk(path):
        if name in KUSTOMIZATIONS and (folder / name).is_file():
            yield folder / name


def contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path (with slashes) and content of files below a directory: YAML, JSON and kustomizations.

    Hidden directories, such as Git's own, are none of it, and links are not followed. Raises WorkspaceError where a
    file is too large, or all of them are.
    """
    budget = Budget()
    root = str(path.resolve())
    for folder, name in walk(path):
        if not name.endswith((*SUFFIXES, ".json")) and name not in KUSTOMIZATIONS:
            continue
        below = (folder / name).relative_to(path)
        content = read_plain(root, below.parts)
        if content is not None:
            budget.spend(root, below.as_posix(), len(content))
            yield below.as_posix(), content


def walk(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield each directory with each name in it that is none, in order; none is entered that is hidden or a link."""
    left = [path]
    while left:
        folder = left.pop()
        below = []
        for entry in sorted(_entries(folder), key=lambda entry: entry.name):
            if not entry.is_dir(follow_symlinks=False):
                yield folder, entry.name
            elif not entry.name.startswith("."):
                below.append(folder / entry.name)
        left += reversed(below)


def _entries(folder: Path) -> list["os.DirEntry[str]"]:
    """Return what a directory holds, nothing where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _stays(root: Path, file: Path) -> bool:
    """Whether a file lies below a directory, and in no hidden one of it, wherever links lead."""
    real = file.resolve()
    if not real.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in real.relative_to(root).parts[:-1])
