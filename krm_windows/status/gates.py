"""Which gates open and close an object of a cluster: those whose Roles may patch it."""

from collections.abc import Callable
from typing import NamedTuple

from krm_windows.emit.labels import POLICY
from krm_windows.gate.objects import dig
from krm_windows.gateable import Gateable
from krm_windows.status.objects import LiveObject, entries
from krm_windows.system.kubectl import Query

Ask = Callable[[Query], list[LiveObject]]

_RIGHTS = "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
_OURS = {"app.kubernetes.io/managed-by": "krm-windows"}


class GoverningGate(NamedTuple):
    """What opens and closes an object: its policy, and whether that has CronJobs that run.

    `is_edge`: it is the actuator `Kubectl`, which opens whatever it finds and knows no hold.
    """

    policy: str
    is_edge: bool
    runs: bool


def governing(row: Gateable, namespace: str, name: str, ask: Ask) -> list[GoverningGate]:
    """Return the gates that may patch an object. Raises what `ask` raises, for lack of rights."""
    found = ask(Query(_RIGHTS, namespace, labels=_OURS))
    roles = {dig(each, "metadata", "name"): each for each in found if _may_patch(each, row, name)}
    gates = []
    for binding in found:
        role = roles.get(dig(binding, "roleRef", "name"))
        if role is None:
            continue
        label = str(dig(role, "metadata", "labels", POLICY))
        for subject in entries(binding, "subjects"):
            home = str(dig(subject, "namespace"))
            cron_jobs = ask(Query("cronjobs.batch", home, labels={POLICY: label}))
            active = [each for each in cron_jobs if dig(each, "spec", "suspend") is not True]
            # The label is `namespace.name`, and a namespace has no dot.
            policy = f"{home}/{label.partition('.')[2]}"
            gates.append(GoverningGate(policy, any(map(_runs_kubectl, active)), bool(active)))
    return gates


def _may_patch(live: LiveObject, row: Gateable, name: str) -> bool:
    """Say whether this is a Role with the right to patch an object by its name."""
    right = {
        "apiGroups": row.group,
        "resources": row.resource,
        "resourceNames": name,
        "verbs": "patch",
    }
    for rule in entries(live, "rules"):
        listed = (dig(rule, key) for key in right)
        if all(value in (found or ()) for value, found in zip(right.values(), listed, strict=True)):
            return True
    return False


def _runs_kubectl(cron_job: LiveObject) -> bool:
    path = ("spec", "jobTemplate", "spec", "template", "spec", "containers")
    return any(dig(each, "command") == ["kubectl"] for each in entries(cron_job, *path))
