"""What the commands read: a policy from a file, resources from a directory or standard input."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from krm_windows import gateable
from krm_windows.gateable import group_of
from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import InputError, KubeObject, layout, opened
from krm_windows.policy.model import KIND
from krm_windows.system import bounded
from krm_windows.system.reading import manifests

STDIN = "-"


class UsageError(InputError):
    """The call is wrong: it says two things that exclude each other, or too little."""


def check_directory(path: str | Path) -> None:
    """Refuse what is no directory; raises InputError that says what it is instead."""
    if Path(path).is_dir():
        return
    if os.path.lexists(path):
        raise InputError(f"{path}: is not a directory")
    raise InputError(f"{path}: no such directory")


def policy(path: str) -> KubeObject:
    """Return the one WindowPolicy of a file; raises InputError where there is none, or more."""
    return only(path, KIND)


def only(path: str, kind: str) -> KubeObject:
    """Return the one object of a kind in a file; raises InputError where there is none, or more."""
    every = _documents(path)
    found = [item for item in every if item.kind == kind]
    if len(found) == 1:
        return found[0]
    # Zero and two are both wrong: whichever of two were taken, the other would be ignored
    # unnoticed.
    must = f"must contain exactly one {kind}"
    if not every:
        raise InputError(f"{must}, but is empty", 1, 1, path)
    # The first of two is in place; it is the second that is one too many.
    item = found[1] if found else every[0]
    kinds = ", ".join(sorted({each.kind or "one without `kind`" for each in every}))
    message = (
        f"{must}, found {len(found)}; put each in its own file"
        if found
        else f"{must}, found {kinds}"
    )
    raise InputError(message, item.lines_above + item.node.line, item.node.column, path)


def flux_kustomization(path: str) -> KubeObject:
    """Return the one Flux Kustomization of a file; raises InputError where it holds no such."""
    item = only(path, "Kustomization")
    if group_of(item.api_version) != gateable.KUSTOMIZE:
        raise InputError(
            f"must be a Kustomization of {gateable.KUSTOMIZE}, found {item.api_version}", file=path
        )
    return item


def resources(path: str, *, without: Callable[[Path], bool] | None = None) -> list[KubeObject]:
    """Return the objects of a directory's YAML files but some, or of standard input."""
    if path == STDIN:
        return objects(STDIN)
    place = Path(path)
    if not place.exists():
        raise InputError(f"{path}: no such file or directory")
    if not place.is_dir():
        return [] if without and without(place) else _of_file(path)
    found: list[KubeObject] = []
    for file in manifests(place):
        # Hidden files, and directories such as `.git`, are no manifests.
        if not (without and without(file)):
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
        found = opened(read)
        # Only whoever asks for the kind reads the text.
        for item in found:
            item.file = path
            _ = item.kind
    except InputError as error:
        raise in_file(error, path, read) from error
    return found


def in_file(error: InputError, path: str, read: bytes) -> InputError:
    """Return the error of a file with its name, and what may be behind it."""
    advice = ""
    if b"{{" in read:
        advice = "; it looks like an unrendered template ({{ … }}): render it first"
    return error.in_file(path, advice)


def content(path: str) -> bytes:
    """Return what a file holds, or standard input; raises InputError where it is half merged."""
    if path == STDIN:
        read = bounded.read_stream(sys.stdin.buffer, "standard input")
    else:
        read = bounded.read_file(Path(path))
    # Also where it can be read: in JSON the markers of Git are texts of YAML.
    conflict = layout.merge_conflict(read.decode(errors="replace"))
    if conflict is not None:
        raise conflict.in_file(path)
    return read
