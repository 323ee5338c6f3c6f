"""A directory made at once: it appears with all its files, or not at all."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from krm_windows.workspace.errors import WorkspaceError


def create(path: Path, files: Mapping[str, bytes]) -> None:
    """Make a directory of files, by path below it; raises WorkspaceError where something stands there already."""
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise WorkspaceError(f"{name!r} leads out of {path}")
    if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
        raise WorkspaceError(f"{path} stands in the way: name a directory that does not exist or is empty")
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        _fill(made, files)
        made.chmod(0o755)
        made.replace(path)  # rename(2) takes the place of an empty directory
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _fill(path: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
