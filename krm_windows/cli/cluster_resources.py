"""The resources of a cluster, as `--resources` names them: what a transformer would see.

A kustomization as it is built, else files as they are. Where a kustomization only lists files that
are beside it, the files say all there is. Where it does more, as an overlay does, its own files are
only a part of what is applied.
"""

import os
from collections.abc import Callable
from pathlib import Path

from krm_windows.cli import builds, inputs
from krm_windows.emit.labels import POLICY
from krm_windows.flux.builds import Builds, Request
from krm_windows.flux.closure import close
from krm_windows.flux.locations import Locator
from krm_windows.flux.objects import LOCAL
from krm_windows.inventory import INDEX, ORIGIN, PATH
from krm_windows.krm import KubeObject
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder
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
    files = inputs.resources(path, without=without)
    if path == inputs.STDIN or not is_kustomization(Path(path)):
        return files
    return _built(Path(path), files, rendered=without is None)


def _built(path: Path, files: list[KubeObject], *, rendered: bool) -> list[KubeObject]:
    """Return what a kustomization builds to.

    The objects of its files where these are all, or where it cannot be built. Unless what was
    `rendered` before counts too, objects of policies are left out.
    """
    tree = Checkout.at(builds.repository(path))
    # As kustomize wants paths: with slashes, below the root of the copy.
    directory = path.resolve().relative_to(tree.root).as_posix()
    builder = Builder.find()
    if builder is None or _lists_files_beside_it(tree, directory):
        return files
    request = Request(directory)
    # One build needs one worker.
    every = Builds(tree, builder, 1)
    every.build([request])
    found = every.done[request].objects
    if not found:
        return files
    # What is local to the configuration is dropped at the end of a build, and a transformer sees it
    # before.
    seen = [item for item in files if item.annotations.get(LOCAL) == "true"]
    locator = Locator(tree)
    for each in found:
        if rendered or each.note(POLICY) is None:
            file = locator.locate(each).file
            # Only the build here adds it; what is applied does not have it.
            each.item.remove("metadata", "annotations", ORIGIN)
            each.item.set_annotation(PATH, os.path.relpath(Path(tree.root, file)))
            each.item.set_annotation(INDEX, "0")
            seen.append(each.item)
    return seen


def _lists_files_beside_it(tree: Checkout, directory: str) -> bool:
    """Whether a kustomization, and each below it, only lists files that are below."""
    closure = close(tree, directory, {})
    # `clusters/prod-2/a.yaml` is not below `clusters/prod`.
    inside = "" if directory == "." else f"{directory}/"
    return closure.plain and all(file.startswith(inside) for file in closure.files)
