"""Which gates open and close an object of a cluster: those whose Roles may patch it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from krm_windows.emit.labels import POLICY
from krm_windows.gate.objects import dig
from krm_windows.gateable import Gateable
from krm_windows.schedule import controller, cron
from krm_windows.status.objects import LiveObject, entries
from krm_windows.system.kubectl import Query

Ask = Callable[[Query], list[LiveObject]]

_RIGHTS = "roles.rbac.authorization.k8s.io,rolebindings.rbac.authorization.k8s.io"
_OURS = {"app.kubernetes.io/managed-by": "krm-windows"}


class GoverningGate(NamedTuple):
    """What opens and closes an object: its policy, and the UTC instant at which it runs next.

    `is_edge`: it is the actuator `Kubectl`, which opens whatever it finds and knows no hold.
    `next_run` is None where none of its CronJobs will start a run.
    """

    policy: str
    is_edge: bool
    next_run: datetime | None


def governing(
    row: Gateable, namespace: str, name: str, ask: Ask, after: datetime
) -> list[GoverningGate]:
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
            # The label is `namespace.name`, and a namespace has no dot.
            policy = f"{home}/{label.partition('.')[2]}"
            gates.append(_gate(policy, cron_jobs, after))
    return gates


def _may_patch(live: LiveObject, row: Gateable, name: str) -> bool:
    """Say whether this is a Role with the right to patch an object by its name."""
    for rule in entries(live, "rules"):
        is_right = (
            _lists(rule, "apiGroups", row.group)
            and _lists(rule, "resources", row.resource)
            and _lists(rule, "resourceNames", name)
            and _lists(rule, "verbs", "patch")
        )
        if is_right:
            return True
    return False


def _lists(rule: object, key: str, value: str) -> bool:
    found = dig(rule, key)
    return isinstance(found, list) and value in found


def _gate(policy: str, cron_jobs: Iterable[LiveObject], after: datetime) -> GoverningGate:
    active = [each for each in cron_jobs if dig(each, "spec", "suspend") is not True]
    runs = chain.from_iterable(_next_run(each, after) for each in active)
    is_edge = any(_runs_kubectl(each) for each in active)
    return GoverningGate(policy, is_edge, min(runs, default=None))


def _next_run(cron_job: LiveObject, after: datetime) -> Iterator[datetime]:
    schedule = str(dig(cron_job, "spec", "schedule"))
    zone = dig(cron_job, "spec", "timeZone") or ""
    try:
        yield from controller.next_runs(schedule, str(zone), after.astimezone(UTC), 1)
    except cron.CronError:
        # The controller starts nothing by it either.
        return


def _runs_kubectl(cron_job: LiveObject) -> bool:
    path = ("spec", "jobTemplate", "spec", "template", "spec", "containers")
    return any(dig(each, "command") == ["kubectl"] for each in entries(cron_job, *path))
