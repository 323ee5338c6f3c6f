"""Which policies would open an object of a cluster whatever holds it."""

from collections.abc import Callable, Iterator

from krm_windows.emit.labels import POLICY
from krm_windows.gate.objects import dig
from krm_windows.gateable import Gateable
from krm_windows.status.objects import LiveObject, entries
from krm_windows.system.kubectl import Query

Ask = Callable[[Query], list[LiveObject]]

_RIGHTS = "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
_OURS = {"app.kubernetes.io/managed-by": "krm-windows"}


def with_edges(row: Gateable, namespace: str, name: str, ask: Ask) -> Iterator[str]:
    """Yield the policies with the actuator `Kubectl` whose CronJobs may patch an object.

    These open whatever they find, and know no hold. Raises what `ask` raises, for lack of rights.
    """
    found = ask(Query(_RIGHTS, namespace, labels=_OURS))
    roles = {dig(each, "metadata", "name"): each for each in found if _may_patch(each, row, name)}
    for binding in found:
        role = roles.get(dig(binding, "roleRef", "name"))
        if role is None:
            continue
        label = str(dig(role, "metadata", "labels", POLICY))
        for subject in entries(binding, "subjects"):
            home = str(dig(subject, "namespace"))
            cron_jobs = ask(Query("cronjobs.batch", home, labels={POLICY: label}))
            active = [each for each in cron_jobs if dig(each, "spec", "suspend") is not True]
            if any(map(_runs_kubectl, active)):
                # The label is `namespace.name`, and a namespace has no dot.
                yield f"{home}/{label.partition('.')[2]}"


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
