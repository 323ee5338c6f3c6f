"""Where an object stands in the repository: the file, and the document in it as it was written."""

from krm_windows.flux.closure import joined, kustomization_file
from krm_windows.flux.model import Object
from krm_windows.flux.objects import ORIGIN, parsed
from krm_windows.krm import InputError, KubeObject
from krm_windows.system.checkout import Checkout


def place(tree: Checkout, item: Object) -> tuple[str, KubeObject | None]:
    """Return the file that an object comes from, and its document there; None where it was generated."""
    if item.made_by is not None:
        return place(tree, item.made_by)
    file = item.file or _origin(tree, item)
    found = [each for each in _documents(tree, file) if each.kind == item.kind]
    exact = [
        each
        for each in found
        if item.file and each.source.count(b"\n", 0, each.start) == item.first
    ]
    named = [each for each in found if each.name == item.name]
    near = [each for each in found if each.name and each.name in item.name]
    return file, next(iter([*exact, *named, *near, *found]), None)


def _origin(tree: Checkout, item: Object) -> str:
    """Return the file that kustomize notes, or the kustomization that was built."""
    note = item.text("metadata", "annotations", ORIGIN)
    noted = KubeObject.parse(note.encode()) if note else None
    path = noted and (noted.get("path") or noted.get("configuredIn"))
    if isinstance(path, str):
        return joined(item.directory, path)
    return kustomization_file(tree, item.directory) or item.directory


def _documents(tree: Checkout, file: str) -> tuple[KubeObject, ...]:
    try:
        return parsed(tree.read(file) or b"")
    except InputError:
        return ()
