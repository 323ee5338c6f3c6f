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


class UsageError(InputError):
    """The call is wrong: it says two things that exclude each other, or too little."""


def policy(path: str) -> KubeObject:
    """Return the one WindowPolicy of a file; raises InputError where there is none, or more."""
    return only(path, KIND)


def only(path: str, kind: str) -> KubeObject:
    """Return the one object of a kind in a file; raises InputError where there is none, or more."""
    every = _documents(path)
    found = [item for item in every if item.kind == kind]
    # Zero and two are both wrong: whichever of two were taken, the other would be ignored
    # unnoticed.
    if len(found) != 1:
        raise InputError(f"{path}: {_not_one(kind, every, found)}")
    return found[0]


def _not_one(kind: str, every: list[KubeObject], found: list[KubeObject]) -> str:
    """Say what a file holds instead of one object of a kind."""
    if found:
        names = ", ".join(f"{item.namespace}/{item.name}".lstrip("/") for item in found)
        return f"must hold one {kind}, and holds {len(found)}: {names}; put each into its own file"
    if not every:
        return f"must hold one {kind}, and is empty"
    kinds = sorted({item.kind for item in every if item.kind})
    if not kinds:
        return f"must hold one {kind}, and nothing in it has a kind: begin with `kind: {kind}`"
    from krm_windows.policy.findings import closest  # noqa: PLC0415 - slow, and only for a mistake

    meant = [one for one in kinds if closest(one, [kind]) == kind]
    if meant:
        return f'must hold one {kind}, and its kind is "{meant[0]}"; did you mean "{kind}"?'
    return f"must hold one {kind}, and holds {', '.join(kinds)}"


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
    return [item for item in _documents(path) if item.kind]


def _documents(path: str) -> list[KubeObject]:
    """Return the documents of a file; raises InputError with its name, and the line."""
    read = content(path)
    try:
        found = documents(read)
        # Only whoever asks for the kind reads the text.
        for item in found:
            _ = item.kind
    except InputError as error:
        template = ""
        if b"{{" in read:
            template = "; it looks like a template ({{ … }}): render it first"
        raise InputError(f"{path}: {error}{template}") from error
    return found


def content(path: str) -> bytes:
    """Return what a file holds, or standard input."""
    if path == STDIN:
        return bounded.read_stream(sys.stdin.buffer, "standard input")
    return bounded.read_file(Path(path))
