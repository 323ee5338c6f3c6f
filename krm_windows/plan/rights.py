"""The rights that the gate takes.

`get` and `patch` on named objects, and what hooks and Events need where they are.
"""

from collections.abc import Iterator

from krm_windows import gateable
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Grant, Rights
from krm_windows.policy.hooks import Hooks

# A Job's name has its occurrence in it, and an Event's what it says, so neither can be named
# beforehand.
JOBS = Grant("batch", "jobs", (), ("create", "get"))
EVENTS = Grant("", "events", (), ("create",))
# The kinds that may be gated, as rules of a Role name them.
_ROWS = {(row.group, row.resource): row for row in gateable.TABLE}


def rights(
    targets: tuple[Target, ...],
    hooks: Hooks | None = None,
    *,
    events: bool = False,
) -> tuple[Rights, ...]:
    """Return the rights that turning these targets takes, a set for each namespace, all sorted."""
    beside = (EVENTS,) if events else ()
    # Verbs are granted for each namespace in a Role of its own; there is no ClusterRole.
    namespaces = sorted({target.namespace for target in targets})
    found = [Rights(name, (*beside, *_grants(targets, name))) for name in namespaces]
    if hooks:
        found.append(Rights(hooks.namespace, (JOBS,)))
    return tuple(sorted(found, key=lambda each: each.namespace))


def _grants(targets: tuple[Target, ...], namespace: str) -> tuple[Grant, ...]:
    """Return a grant for each kind of object in a namespace, with the names of all of them."""
    kinds: dict[tuple[str, str], set[str]] = {}
    for target in targets:
        if target.namespace == namespace:
            names = kinds.setdefault((target.group, target.resource), set())
            names.add(target.name)
    found = []
    # Sorted, so that the order of targets in the policy changes no byte of the Role.
    for (group, resource), names in sorted(kinds.items()):
        found.append(Grant(group, resource, tuple(sorted(names))))
    return tuple(found)


def granted(found: object, namespace: str) -> Iterator[Target]:
    """Yield the objects that `rules` of a Role of ours let the gate turn, read back.

    They are what names the targets where nothing else that was emitted does, as with the actuator
    `Kubectl`. Kinds whose field is not known, and what is no such rule, are left out.
    """
    if not isinstance(found, list):
        return
    for rule in found:
        # Ours are about one kind each.
        match rule:
            case {"apiGroups": [group, *_], "resources": [resource, *_], "resourceNames": [*names]}:
                row = _ROWS.get((str(group), str(resource)))
            case _:
                continue
        if row is None:
            continue
        for name in names:
            yield Target(
                group=row.group,
                resource=row.resource,
                kind=row.kind,
                namespace=namespace,
                name=str(name),
                field=row.field,
            )
