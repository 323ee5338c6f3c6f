"""kustomize, whichever is there: the program of its own, or the one inside kubectl."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from krm_windows.workspace.errors import WorkspaceError

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
ENGINES = {"kustomize": "build", "kubectl": "kustomize"}
# As Flux builds: files from anywhere in the repository, and no plugins.
_AS_FLUX = "--load-restrictor=LoadRestrictionsNone"


def is_kustomization(path: Path) -> bool:
    """Whether a directory is to be built."""
    return any((path / name).is_file() for name in NAMES)


def kustomizations(path: Path) -> Iterator[Path]:
    """Yield the file of every kustomization in a directory or below it."""
    return (found for name in NAMES for found in path.rglob(name) if found.is_file())


def build(path: Path) -> bytes:
    """Return what a kustomization builds to; raises WorkspaceError where it does not, or nothing can build it."""
    engine = next(filter(shutil.which, ENGINES), None)
    if engine is None:
        raise WorkspaceError(f"{path} is a kustomization: install {' or '.join(ENGINES)} to build it")
    command = [engine, ENGINES[engine], _AS_FLUX, str(path)]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a fixed program, no shell
    if done.returncode != 0:
        raise WorkspaceError(f"{engine} cannot build {path}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
