"""What the commands read: a policy from a file, resources from a directory or standard input."""

import sys
from collections.abc import Callable
from pathlib import Path

from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.policy.model import KIND
from krm_windows.system import bounded
from krm_windows.system.reading import manifests

STDIN = "-"


def policy(path: str) -> KubeObject:
    """Return the one WindowPolicy of a file; raises InputError where there is none, or more."""
    return only(path, KIND)


def only(path: str, kind: str) -> KubeObject:
    """Return the one object of a kind in a file; raises InputError where there is none, or more."""
    found = [item for item in objects(path) if item.kind == kind]
    # Zero and two are both wrong: whichever of two were taken, the other would be ignored
    # unnoticed.
    if len(found) != 1:
        raise InputError(f"{path}: must hold exactly one {kind}, found {len(found)}")
    return found[0]


def resources(path: str, *, without: Callable[[Path], bool] = lambda _: False) -> list[KubeObject]:
    """Return the objects of a directory's YAML files but some, or of standard input."""
    if path == STDIN:
        return objects(STDIN)
    place = Path(path)
    if not place.exists():
        raise InputError(f"{path}: no such file or directory")
    if not place.is_dir():
        if without(place):
            return []
        return _of_file(path)
    found: list[KubeObject] = []
    for file in manifests(place):
        # Hidden files, and directories such as `.git`, are no manifests.
        if not without(file):
            found.extend(_of_file(str(file)))
    return found


def _of_file(path: str) -> list[KubeObject]:
    """Return the objects of one file, each saying where it came from."""
    items = objects(path)
    for index, item in enumerate(items):
        # kustomize and kpt name the same two annotations on what they read
        # (internal.config.kubernetes.io), so results can say file and index.
        item.set_annotation(PATH, path)
        item.set_annotation(INDEX, str(index))
    return items


def objects(path: str) -> list[KubeObject]:
    """Return the documents that are objects.

    One without a kind, such as values for a chart, is none.
    """
    try:
        return [item for item in documents(content(path)) if item.kind]
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def content(path: str) -> bytes:
    """Return what a file holds, or standard input."""
    if path == STDIN:
        return bounded.read_stream(sys.stdin.buffer, "standard input")
    return bounded.read_file(Path(path))
