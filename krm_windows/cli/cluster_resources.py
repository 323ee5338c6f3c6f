"""The resources of a cluster, as `--resources` names them.

A kustomization as it is built, else files as they are.
"""

from collections.abc import Callable
from pathlib import Path

from krm_windows.cli import inputs, overlays
from krm_windows.krm import KubeObject
from krm_windows.system.reading import is_kustomization


def read(path: str | None, without: Callable[[Path], bool] | None = None) -> list[KubeObject]:
    """Return the objects of a directory, a file or a stream; none where no path is given.

    `without` some files, and without what came of those. A kustomization that cannot be built,
    as it names what is rendered only now, is read as files; and so is every one where kustomize is
    not installed.
    """
    if path is None:
        return []
    # `--resources "$DIR"` with DIR unset: to look at nothing would find nothing.
    if not path.strip():
        raise inputs.UsageError(
            f"--resources must name a directory, got {path!r}; . is the one you are in"
        )
    # Standard input can be read only once, so it is never a kustomization.
    files = inputs.resources(path, without=without or _nothing)
    if path == inputs.STDIN or not is_kustomization(Path(path)):
        return files

    return overlays.built(Path(path), files, rendered=without is None)


def _nothing(_: Path) -> bool:
    return False
