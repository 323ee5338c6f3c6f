"""The targets that a Role of ours names, where nothing else that was emitted does.

With the actuator `Kubectl`.
"""

from collections.abc import Iterator

from krm_windows.gate.timetable import Target
from krm_windows.gateable import TABLE, Gateable
from krm_windows.krm import KubeObject

_ROWS = {(row.group, row.resource): row for row in TABLE}


def targets(role: KubeObject) -> Iterator[Target]:
    """Yield the objects that a Role lets the gate turn, of the kinds whose field is known."""
    found = role.get("rules")
    if not isinstance(found, list):
        return
    for rule in found:
        if not isinstance(rule, dict):
            continue
        groups, resources = rule.get("apiGroups"), rule.get("resources")
        names = rule.get("resourceNames")
        if not isinstance(names, list):
            continue
        row = _row(groups, resources)
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


def _row(groups: object, resources: object) -> Gateable | None:
    """Return what is known of the kind that a rule is about; ours are about one each."""
    if not isinstance(groups, list) or not isinstance(resources, list):
        return None
    return _ROWS.get((str(groups[0]), str(resources[0])))
