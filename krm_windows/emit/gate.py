"""What the actuator `Gate` runs: the gate program from the ConfigMap, in one container."""

from math import ceil

from krm_windows.emit import configmap, hooks, names
from krm_windows.emit.job import Pod, container
from krm_windows.gate.kubernetes import run_seconds
from krm_windows.plan.model import Plan

MOUNT = "/gate"
# A Job looks twice where an edge is near: the wait for it, and the start of a Pod, are at most a minute each.
_LOOKS = 2
_AROUND_SECONDS = 120
# A wake-up missed while the controller was down is made good within this time; later ones are left to the next look.
STARTING_DEADLINE_SECONDS = 300


def pod(plan: Plan, *flags: str) -> Pod:
    """Return the Pod that looks, with the gate's ConfigMap mounted."""
    program: dict[str, object] = {"command": ["python3", "-I", MOUNT, *flags]}
    looking = container(
        plan, "gate", program, [{"name": "gate", "mountPath": MOUNT, "readOnly": True}]
    )
    source = {"name": names.gate(plan), "items": configmap.items(plan)}
    volume: dict[str, object] = {"name": "gate", "configMap": source}
    return Pod([looking], deadline(plan), (volume,))


def deadline(plan: Plan) -> int:
    """Return the seconds that a Job may take: in each of its looks Events may take as long as the look itself.

    In each hooks may run for as long as they may. 360 s for up to 960 targets without either, 620 s for 2,000.
    """
    targets = len(plan.timetable.targets) + len(plan.timetable.released)
    passes = 2 if plan.events else 1
    look = passes * ceil(run_seconds(targets))
    if plan.hooks:
        look += hooks.longest_seconds(plan.hooks, targets)
    return _LOOKS * look + _AROUND_SECONDS
