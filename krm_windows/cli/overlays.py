"""Directories of resources that hold a kustomization.

What kustomize makes of them, as a transformer would see it. Where a kustomization only lists files
that are beside it, the files say all there is. Where it does more, as an overlay does, its own
files are only a part of what is applied.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from krm_windows.cli import builds
from krm_windows.emit.labels import POLICY
from krm_windows.flux.builds import Builds, Request
from krm_windows.flux.closure import close
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Object
from krm_windows.flux.objects import LOCAL
from krm_windows.inventory import INDEX, ORIGIN, PATH
from krm_windows.krm import KubeObject
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder


def built(
    path: Path,
    files: Sequence[KubeObject],
    *,
    rendered: bool,
) -> list[KubeObject]:
    """Return what a kustomization builds to.

    The objects of its files where these are all, or where it cannot be built. Unless what was
    `rendered` before counts too, objects of policies are left out.
    """
    tree = Checkout.at(builds.repository(path))
    # As kustomize wants paths: with slashes, below the root of the copy.
    directory = path.resolve().relative_to(tree.root).as_posix()
    if _lists_files_beside_it(tree, directory):
        return [*files]
    found = _built(tree, directory)
    if not found:
        return [*files]
    # What is local to the configuration is dropped at the end of a build, and a transformer sees it
    # before.
    local = [item for item in files if item.annotations.get(LOCAL) == "true"]
    kept = [each for each in found if rendered or each.note(POLICY) is None]
    locator = Locator(tree)
    return [*local, *(_placed(tree, locator, each) for each in kept)]


def _lists_files_beside_it(tree: Checkout, directory: str) -> bool:
    """Whether a kustomization, and each below it, only lists files that are below."""
    closure = close(tree, directory, {})
    # `clusters/prod-2/a.yaml` is not below `clusters/prod`.
    inside = "" if directory == "." else f"{directory}/"
    return closure.plain and all(file.startswith(inside) for file in closure.files)


def _built(tree: Checkout, directory: str) -> tuple[Object, ...]:
    """Return what a directory builds to, nothing where it cannot be built."""
    builder = Builder.find()
    if builder is None:
        return ()
    request = Request(directory)
    with builder:
        # One build needs one worker, and no progress bar.
        every = Builds(tree, builder, 1, lambda _, __: None)
        every.build([request])
    return every.done[request].objects


def _placed(tree: Checkout, locator: Locator, found: Object) -> KubeObject:
    """Return an object with the file that it comes from, as results name it."""
    file = locator.locate(found).file
    item = found.item
    # Only the build here adds it; what is applied does not have it.
    item.remove("metadata", "annotations", ORIGIN)
    item.set_annotation(PATH, os.path.relpath(Path(tree.root, file)))
    item.set_annotation(INDEX, "0")
    return item
