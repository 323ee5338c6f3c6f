"""The targets that a Role of ours names, where nothing else that was emitted does: with the actuator `Kubectl`."""

from collections.abc import Iterator

from krm_windows.gate.timetable import Target
from krm_windows.gateable import TABLE
from krm_windows.krm import KubeObject

_ROWS = {(row.group, row.resource): row for row in TABLE}


def targets(role: KubeObject) -> Iterator[Target]:
    """Yield the objects that a Role lets the gate turn, of the kinds whose field is known."""
    found = role.get("rules")
    for rule in found if isinstance(found, list) else ():
        fields = rule if isinstance(rule, dict) else {}
        groups, resources, names = (
            fields.get(key) for key in ("apiGroups", "resources", "resourceNames")
        )
        if not (
            isinstance(groups, list) and isinstance(resources, list) and isinstance(names, list)
        ):
            continue
        row = _ROWS.get((str(groups[0]), str(resources[0])))
        if row is None:
            continue
        for name in names:
            yield Target(
                group=row.group,
                resource=row.resource,
                kind=row.kind,
                namespace=role.namespace,
                name=str(name),
            )
