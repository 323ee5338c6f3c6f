"""Where an orchestrator that keeps files shall write new objects: one directory, one file each.

kpt scatters objects that have no path, and fails where two have the same path and index; kustomize strips both.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from krm_windows.emit import names
from krm_windows.inventory import INDEX, PATH
from krm_windows.krm import KubeObject
from krm_windows.plan.model import Plan

Manifest = dict[str, object]


def directory(plan: Plan) -> str:
    """Return the directory of a policy's objects, relative to the package."""
    return names.policy_label(plan)


def file_name(kind: str, name: str) -> str:
    """Return the name of the file of one object."""
    return f"{kind.lower()}_{name}.yaml"


def place(plan: Plan, fresh: Iterable[KubeObject], items: Iterable[KubeObject]) -> None:
    """Give new objects a path and an index that no item of the stream has."""
    home = directory(plan)
    taken = {(i.annotations.get(PATH), i.annotations.get(INDEX, "0")) for i in items if i.mentions(f"{home}/")}
    for item in fresh:
        path = f"{home}/{file_name(item.kind, item.name)}"
        index = next(index for index in _indexes() if (path, index) not in taken)
        item.set_annotation(INDEX, index)
        item.set_annotation(PATH, path)


def _indexes() -> Iterator[str]:
    return map(str, count())
