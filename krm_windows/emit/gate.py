"""What the actuator `Gate` runs: the gate program from the ConfigMap, in one container."""

from krm_windows.emit import configmap, hooks, names
from krm_windows.emit.job import Pod, container
from krm_windows.plan.model import Plan

MOUNT = "/gate"
# Two passes over the targets, each of at most 120 s, the wait for an edge between them, and the start of a Pod.
ACTIVE_DEADLINE_SECONDS = 360
_EVENTS_SECONDS = 240  # after each pass, as long again
# A wake-up missed while the controller was down is made good within this time; later ones are left to the next look.
STARTING_DEADLINE_SECONDS = 300


def pod(plan: Plan, *flags: str) -> Pod:
    """Return the Pod that looks, with the gate's ConfigMap mounted."""
    program: dict[str, object] = {"command": ["python3", "-I", MOUNT, *flags]}
    looking = container(plan, "gate", program, [{"name": "gate", "mountPath": MOUNT, "readOnly": True}])
    source = {"name": names.gate(plan), "items": configmap.items(plan)}
    volume: dict[str, object] = {"name": "gate", "configMap": source}
    return Pod([looking], deadline(plan), (volume,))


def deadline(plan: Plan) -> int:
    """Return the seconds that a Job may take: in each of its two looks hooks may run for as long as they may."""
    around = 2 * hooks.longest_seconds(plan.hooks) if plan.hooks else 0
    return ACTIVE_DEADLINE_SECONDS + around + (_EVENTS_SECONDS if plan.events else 0)
