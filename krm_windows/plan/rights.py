"""The rights that the gate takes.

`get` and `patch` on named objects, and what hooks and Events need where they are.
"""

from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Grant, Rights
from krm_windows.policy.hooks import Hooks

# A Job's name has its occurrence in it, and an Event's what it tells, so neither can be named
# beforehand.
JOBS = Grant("batch", "jobs", (), ("create", "get"))
EVENTS = Grant("", "events", (), ("create",))


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
