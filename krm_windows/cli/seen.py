"""What a command is shown as the resources of a cluster: a kustomization as it is built, else files as they are."""

from collections.abc import Callable
from pathlib import Path

from krm_windows.cli import inputs
from krm_windows.krm import KubeObject
from krm_windows.system.reading import KUSTOMIZATIONS


def resources(path: str, without: Callable[[Path], bool] | None = None) -> list[KubeObject]:
    """Return the objects of a directory, a file or a stream; `without` some files, and without what came of those.

    A kustomization that cannot be built, as it names what is rendered only now, is read as files; and so is every one
    where kustomize is not installed.
    """
    files = inputs.resources(path) if without is None else inputs.resources(path, without=without)
    if path == inputs.STDIN or not any(Path(path, name).is_file() for name in KUSTOMIZATIONS):
        return files
    from krm_windows.cli import overlays  # noqa: PLC0415 - most calls need no reader of repositories

    return overlays.built(Path(path), files, rendered=without is None)
