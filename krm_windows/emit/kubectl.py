"""What the actuator `Kubectl` runs.

`kubectl patch`, a container for each namespace and kind, and no shell.
"""

import json
from collections import Counter
from collections.abc import Iterable
from operator import attrgetter

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
    plain = Counter(map(_name, batches))
    containers = []
    for batch in batches:
        # Containers of one Pod have different names (core/v1).
        name = _name(batch)
        if plain[name] > 1:
            differs = ".".join((_resource(batch[0]), *batch[0].field))
            name = _name(batch, names.digest(differs))
        program: dict[str, object] = {
            "command": ["kubectl"],
            "args": _patch(batch, suspend=suspend),
        }
        containers.append(container(plan, name, program))
    return Pod(containers, int(plan.patience.total_seconds()))


def _batches(targets: Iterable[Target]) -> list[Batch]:
    """Return the targets that one command can patch, together."""
    batches: dict[tuple[str, ...], Batch] = {}
    for target in sorted(targets, key=attrgetter("namespace", "group", "resource", "name")):
        # One patch, one resource, one namespace: what differs in any of these is another command.
        together = (target.namespace, _resource(target), *target.field)
        batches.setdefault(together, []).append(target)
    return list(batches.values())


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


def _name(batch: Batch, *digest: str) -> str:
    """Name a container after what it patches; another one may have the same name."""
    first = batch[0]
    return names.fit("-".join((first.resource, first.namespace, *digest)), names.NAME_LIMIT)
