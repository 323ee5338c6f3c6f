"""What the actuator `Kubectl` runs.

`kubectl patch`, a container for each namespace and kind, and no shell.
"""

import json
from collections import Counter
from collections.abc import Iterable

from krm_windows.emit import names
from krm_windows.emit.job import Pod, container
from krm_windows.gate.objects import MANAGER
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan

Batch = list[Target]


def pod(plan: Plan, *, suspend: bool) -> Pod:
    """Return the Pod that writes `suspend` into every target."""
    timetable = plan.timetable
    batches = _batches({*timetable.targets, *timetable.released})
    plain = Counter(map(_plain_name, batches))
    containers = []
    for batch in batches:
        # Containers of one Pod have different names (core/v1).
        name = _plain_name(batch)
        if plain[name] > 1:
            name = _distinct_name(batch)
        program: dict[str, object] = {
            "command": ["kubectl"],
            "args": _patch(batch, suspend=suspend),
        }
        containers.append(container(plan, name, program))
    return Pod(containers, int(plan.runtime.patience.total_seconds()))


def _batches(targets: Iterable[Target]) -> list[Batch]:
    """Return the targets that one command can patch, together."""
    batches: dict[tuple[str, ...], Batch] = {}
    for target in sorted(targets, key=_order):
        # One patch, one resource, one namespace: what differs in any of these is another command.
        together = (target.namespace, _resource(target), *target.field)
        batches.setdefault(together, []).append(target)
    return list(batches.values())


def _order(target: Target) -> tuple[str, str, str, str]:
    return target.namespace, target.group, target.resource, target.name


def _patch(batch: Batch, *, suspend: bool) -> list[str]:
    """Return kubectl's arguments.

    Flux takes back what a manager writes whose name begins with `kubectl`.
    """
    first = batch[0]
    change: object = suspend
    # From the innermost field outwards: {"spec": {"suspend": true}}.
    for name in reversed(first.field):
        change = {name: change}
    return [
        "patch",
        _resource(first),
        *(target.name for target in batch),
        "-n",
        first.namespace,
        "--type=merge",
        f"--field-manager={MANAGER}",
        "-p",
        json.dumps(change, separators=(",", ":")),
    ]


def _resource(target: Target) -> str:
    """Name a resource as kubectl does: `kustomizations.v1.kustomize.toolkit.fluxcd.io`."""
    if not target.group:
        return target.resource
    # Without a version kubectl takes the one that the API server prefers.
    parts = (target.resource, target.version, target.group)
    return ".".join(filter(None, parts))


def _plain_name(batch: Batch) -> str:
    """Name a container after what it patches; another one may have the same name."""
    first = batch[0]
    return names.fit(f"{first.resource}-{first.namespace}", names.NAME_LIMIT)


def _distinct_name(batch: Batch) -> str:
    """Name a container as `_plain_name` does, with a digest of all that it differs in."""
    first = batch[0]
    digest = names.digest(".".join((_resource(first), *first.field)))
    return names.fit(f"{first.resource}-{first.namespace}-{digest}", names.NAME_LIMIT)
