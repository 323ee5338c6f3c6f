"""What the commands read: a policy from a file, resources from a directory or standard input."""

import re
import sys
from pathlib import Path

from krm_windows import tree, workspace
from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.policy import fields
from krm_windows.policy.model import KIND
from krm_windows.workspace import SUFFIXES

STDIN = "-"


def policy(path: str) -> KubeObject:
    """Return the one WindowPolicy of a file; raises InputError where there is none, or more."""
    return only(path, KIND)


def only(path: str, kind: str) -> KubeObject:
    """Return the one object of a kind in a file; raises InputError where there is none, or more."""
    found = [item for item in objects(path) if item.kind == kind]
    if len(found) != 1:
        raise InputError(f"{path}: must hold exactly one {kind}, found {len(found)}")
    return found[0]


def base(path: str) -> list[KubeObject]:
    """Return what is to be applied: a kustomization as it is built, else the objects of files or a stream."""
    if path == STDIN:
        return objects(STDIN)
    if workspace.is_kustomization(Path(path)):
        return documents(workspace.build(Path(path)))
    for inner in sorted(workspace.kustomizations(Path(path))):
        raise InputError(f"{path}: is no kustomization, but holds {inner}, which has to be built: name its directory")
    return resources(path)


def clusters(folder: Path) -> dict[str, list[KubeObject]]:
    """Return the WindowPolicies of each cluster in a directory: a file of its name, or all below a directory of it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    found: dict[str, list[KubeObject]] = {}
    for path in sorted(folder.iterdir()):
        name = path.name if path.is_dir() else path.stem
        if path.name.startswith(".") or not (path.is_dir() or path.suffix in SUFFIXES):
            continue
        if not re.fullmatch(fields.LABEL, name):
            raise InputError(f"{path}: {name!r} is no name of a cluster, which is a-z, 0-9 and, between them, -")
        policies = (item for item in resources(str(path), rendered=False) if item.kind == KIND)
        found.setdefault(name, []).extend(policies)
    return found


def resources(path: str, *, rendered: bool = True) -> list[KubeObject]:
    """Return the objects of every YAML file below a directory, or of a stream on standard input.

    What `render` has written is left out where `rendered` is false.
    """
    if path == STDIN:
        return objects(STDIN)
    if not Path(path).exists():
        raise InputError(f"{path}: no such file or directory")
    files = (file for file in workspace.manifests(Path(path)) if rendered or not _is_rendered(file))
    return [item for file in files for item in _of_file(str(file))]


def _is_rendered(file: Path) -> bool:
    return any(map(tree.is_header, workspace.first_lines(file)))


def _of_file(path: str) -> list[KubeObject]:
    """Return the objects of one file, each saying where it came from."""
    items = objects(path)
    for index, item in enumerate(items):
        item.set_annotation(PATH, path)
        item.set_annotation(INDEX, str(index))
    return items


def objects(path: str) -> list[KubeObject]:
    """Return the documents that are objects: one without a kind, such as values for a chart, is none."""
    try:
        return [item for item in documents(content(path)) if item.kind]
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def content(path: str) -> bytes:
    """Return what a file holds, or standard input."""
    return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
