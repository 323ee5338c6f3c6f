"""What the actuator `Gate` runs: its program, from the ConfigMap or the image, in one container."""

from math import ceil

from krm_windows.emit import configmap, hooks, names
from krm_windows.emit.job import Pod, container
from krm_windows.gate.timetable import run_seconds
from krm_windows.plan.model import Plan

MOUNT = "/gate"
# Images of all releases have it: CronJobs that one release emits run what another one is.
_MODULE = "krm_windows.gate"
# A Job decides twice where an edge is near: the wait for it, and the start of a Pod, are at most a
# minute each.
_RUNS = 2
_AROUND_SECONDS = 120
# A trigger missed while the controller was down is made good within this time; later ones are left
# to the next run.
STARTING_DEADLINE_SECONDS = 300


def pod(plan: Plan, *flags: str) -> Pod:
    """Return the Pod that runs the gate, with the gate's ConfigMap mounted."""
    # `-I`: nothing of the image's environment or of a working directory is imported.
    what = [MOUNT] if plan.ships_program else ["-m", _MODULE, "--files", MOUNT]
    program: dict[str, object] = {"command": ["python3", "-I", *what, *flags]}
    mount: dict[str, object] = {"name": "gate", "mountPath": MOUNT, "readOnly": True}
    running = container(plan, "gate", program, [mount])
    source: dict[str, object] = {"name": names.config_map(plan)}
    if plan.ships_program:
        source["items"] = configmap.items(plan)
    volume: dict[str, object] = {"name": "gate", "configMap": source}
    return Pod([running], deadline(plan), (volume,))


def deadline(plan: Plan) -> int:
    """Return the seconds that a Job may take.

    In each of its runs Events may take as long as the run itself. In each hooks may run for as long
    as they may. 360 s for up to 960 targets without either, 620 s for 2,000.
    """
    targets = len(plan.timetable.targets) + len(plan.timetable.released)
    passes = 1
    if plan.events:
        passes = 2
    run = passes * ceil(run_seconds(targets))
    if plan.hooks:
        run += hooks.longest_seconds(plan.hooks, targets)
    return _RUNS * run + _AROUND_SECONDS
