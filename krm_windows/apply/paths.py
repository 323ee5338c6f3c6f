"""Where an orchestrator that keeps files shall write new objects: one directory, one file each.

kpt scatters objects that have no path, and fails where two have the same path and index; kustomize
strips both.
"""

from collections.abc import Iterable
from itertools import count
from typing import NamedTuple

from krm_windows.emit import Manifest, identity, names
from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import KubeObject, mentioning
from krm_windows.plan.model import Plan


def file_name(kind: str, name: str) -> str:
    """Return the name of the file of one object."""
    return f"{kind.lower()}_{name}.yaml"


class Directory(NamedTuple):
    """The directory of a policy's objects in the package, and the paths taken in it."""

    name: str
    taken: frozenset[tuple[str, str]]

    def with_path(self, manifest: Manifest) -> Manifest:
        """Return a manifest with a path and an index that no item of the stream has."""
        kind, _, name = identity(manifest)
        path = f"{self.name}/{file_name(kind, name)}"
        # Foreign objects may be in a file of that name, too.
        numbers = map(str, count())
        index = next(index for index in numbers if (path, index) not in self.taken)
        metadata = manifest["metadata"]
        annotations = {**metadata["annotations"], INDEX: index, PATH: path}
        return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def directory(plan: Plan, items: Iterable[KubeObject]) -> Directory:
    """Return the directory of a policy's objects."""
    home = names.policy_label(plan)
    # Only items that mention the directory can have a path in it.
    inside = [item.annotations for item in mentioning(items, f"{home}/")]
    # An item without an index is the first of its file (kpt's function specification).
    taken = frozenset((found.get(PATH, ""), found.get(INDEX, "0")) for found in inside)
    return Directory(home, taken)
