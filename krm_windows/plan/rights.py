"""The rights that turning the targets takes: `get` and `patch` on named objects, and nothing else."""

from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Grant, Rights


def rights(targets: tuple[Target, ...]) -> tuple[Rights, ...]:
    """Return the rights that turning these targets takes, a set for each namespace, all sorted."""
    namespaces = sorted({target.namespace for target in targets})
    return tuple(Rights(namespace, _grants(targets, namespace)) for namespace in namespaces)


def _grants(targets: tuple[Target, ...], namespace: str) -> tuple[Grant, ...]:
    names: dict[tuple[str, str], set[str]] = {}
    for target in targets:
        if target.namespace == namespace:
            names.setdefault((target.group, target.resource), set()).add(target.name)
    return tuple(Grant(group, resource, tuple(sorted(found))) for (group, resource), found in sorted(names.items()))
