"""What the commands read: a policy from a file, resources from a directory or standard input."""

import sys
from pathlib import Path

from krm_windows import workspace
from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import InputError, KubeObject, documents

STDIN = "-"


def policy(path: str) -> KubeObject:
    """Return the one WindowPolicy of a file; raises InputError where there is none, or more."""
    return only(path, "WindowPolicy")


def only(path: str, kind: str) -> KubeObject:
    """Return the one object of a kind in a file; raises InputError where there is none, or more."""
    found = [item for item in _objects(path) if item.kind == kind]
    if len(found) != 1:
        raise InputError(f"{path}: must hold exactly one {kind}, found {len(found)}")
    return found[0]


def base(path: str) -> list[KubeObject]:
    """Return what is to be applied: a kustomization as it is built, else the objects of files or a stream."""
    if path == STDIN:
        return _objects(STDIN)
    if workspace.is_kustomization(Path(path)):
        return documents(workspace.build(Path(path)))
    for inner in sorted(workspace.kustomizations(Path(path))):
        raise InputError(f"{path}: is no kustomization, but holds {inner}, which has to be built: name its directory")
    return resources(path)


def resources(path: str) -> list[KubeObject]:
    """Return the objects of every YAML file below a directory, or of a stream on standard input."""
    if path == STDIN:
        return _objects(STDIN)
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or directory")
    return [item for file in workspace.manifests(Path(path)) for item in _of_file(str(file))]


def _of_file(path: str) -> list[KubeObject]:
    """Return the objects of one file, each saying where it came from."""
    items = _objects(path)
    for index, item in enumerate(items):
        item.set_annotation(PATH, path)
        item.set_annotation(INDEX, str(index))
    return items


def _objects(path: str) -> list[KubeObject]:
    """Return the documents that are objects: one without a kind, such as values for a chart, is none."""
    try:
        return [item for item in documents(content(path)) if item.kind]
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def content(path: str) -> bytes:
    """Return what a file holds, or standard input."""
    return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
