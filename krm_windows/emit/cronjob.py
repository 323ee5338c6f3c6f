"""The CronJobs: those that wake the gate, and those that act at an edge."""

from krm_windows.emit import gate, kubectl, names
from krm_windows.emit.job import job_spec
from krm_windows.emit.labels import WINDOW, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.plan.wakeups import WakeUp

# A look that hangs, as its Pod waits for a node, a quota or an image, must not keep those after it from starting; two
# at once do what one does (docs/decisions/0030-looks-run-side-by-side.md). Commands that act wait for each other.
_CONCURRENCY = {"Gate": "Allow", "Kubectl": "Forbid"}


def cron_job(plan: Plan, look: WakeUp) -> Manifest:
    """Return the CronJob of one wake-up. One finished Job is kept, so that its image stays on the node."""
    pod = gate.pod(plan) if look.suspends is None else kubectl.pod(plan, suspend=look.suspends)
    patience = (
        gate.STARTING_DEADLINE_SECONDS if plan.looks else int(plan.runtime.patience.total_seconds())
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(
            plan, names.cron_job(plan, look), plan.namespace, {WINDOW: look.words}
        ),
        "spec": {
            "schedule": look.schedule,
            "timeZone": look.time_zone,
            "suspend": False,
            "concurrencyPolicy": _CONCURRENCY[plan.runtime.actuator],
            "startingDeadlineSeconds": patience,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"metadata": {"labels": labels(plan)}, "spec": job_spec(plan, pod)},
        },
    }
