"""What the actuator `Kubectl` runs.

`kubectl patch`, a container for each namespace and kind, and no shell.
"""

import json
from collections import Counter
from collections.abc import Iterable

from krm_windows.emit import names
from krm_windows.emit.job import Pod, container
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan

Batch = list[Target]


def pod(plan: Plan, *, suspend: bool) -> Pod:
    """Return the Pod that writes `suspend` into every target."""
    held = plan.timetable
    batches = _batches({*held.targets, *held.released})
    plain = Counter(map(_name, batches))
    containers = [
        container(
            plan,
            _name(batch, unique=plain[_name(batch)] == 1),
            {"command": ["kubectl"], "args": _patch(batch, suspend=suspend)},
        )
        for batch in batches
    ]
    return Pod(containers, int(plan.runtime.patience.total_seconds()))


def _batches(targets: Iterable[Target]) -> list[Batch]:
    """Return the targets that one command can patch, together."""
    batches: dict[tuple[str, ...], Batch] = {}
    for target in sorted(
        targets, key=lambda each: (each.namespace, each.group, each.resource, each.name)
    ):
        batches.setdefault((target.namespace, _resource(target), *target.field), []).append(target)
    return list(batches.values())


def _patch(batch: Batch, *, suspend: bool) -> list[str]:
    """Return kubectl's arguments.

    Flux takes back what a manager writes whose name begins with `kubectl`.
    """
    first = batch[0]
    change: object = suspend
    for name in reversed(first.field):
        change = {name: change}
    return [
        "patch",
        _resource(first),
        *(target.name for target in batch),
        "-n",
        first.namespace,
        "--type=merge",
        "--field-manager=krm-windows",
        "-p",
        json.dumps(change, separators=(",", ":")),
    ]


def _resource(target: Target) -> str:
    """Name a resource as kubectl does: `kustomizations.v1.kustomize.toolkit.fluxcd.io`."""
    if not target.group:
        return target.resource
    return ".".join(filter(None, (target.resource, target.version, target.group)))


def _name(batch: Batch, *, unique: bool = True) -> str:
    """Name a container after what it patches.

    Where that is not unique, with a hash of all that tells it apart.
    """
    first = batch[0]
    plain = f"{first.resource}-{first.namespace}"
    if unique:
        return names.fit(plain, names.NAME_LIMIT)
    return names.fit(
        f"{plain}-{names.digest('.'.join((_resource(first), *first.field)))}", names.NAME_LIMIT
    )
