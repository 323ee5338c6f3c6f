"""Where an object is in the repository: the file, and the document in it as it was written."""

from krm_windows.flux.closure import joined, kustomization_file
from krm_windows.flux.model import Object
from krm_windows.flux.objects import readable
from krm_windows.inventory import ORIGIN, origin_file
from krm_windows.krm import KubeObject
from krm_windows.system.checkout import Checkout


def locate(tree: Checkout, item: Object) -> tuple[str, KubeObject | None]:
    """Return the file that an object comes from, and its document there.

    The document is None where the object was generated.
    """
    if item.made_by is not None:
        return locate(tree, item.made_by)
    file = item.file or _origin(tree, item)
    # A patch may change the name, hardly ever the kind.
    found = [each for each in readable(tree.read(file) or b"") if each.kind == item.kind]
    if not found:
        return file, None
    nearest = min(found, key=lambda each: _distance(each, item))
    return file, nearest


def _distance(document: KubeObject, item: Object) -> int:
    """Return how far a document is from what an object was made of, 0 for the very one.

    kustomize may have changed the name, mostly by putting something before or behind it.
    """
    # The very line of the file, where the object was taken from it as it is.
    if item.file and document.lines_above == item.lines_above:
        return 0
    if document.name == item.name:
        return 1
    if document.name and document.name in item.name:
        return 2
    return 3


def _origin(tree: Checkout, item: Object) -> str:
    """Return the file that kustomize notes, or the kustomization that was built."""
    noted = origin_file(item.text("metadata", "annotations", ORIGIN))
    if noted:
        return joined(item.directory, noted)
    return kustomization_file(tree, item.directory) or item.directory
