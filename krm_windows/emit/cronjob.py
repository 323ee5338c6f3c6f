"""The CronJobs that wake the gate."""

from krm_windows.emit import names
from krm_windows.emit.job import job_spec
from krm_windows.emit.labels import WINDOW, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.plan.wakeups import WakeUp

# A wake-up missed while the controller was down is made good within this time; later ones are left to the next look.
STARTING_DEADLINE_SECONDS = 300


def cron_job(plan: Plan, look: WakeUp) -> Manifest:
    """Return the CronJob of one wake-up. One finished Job is kept, so that its image stays on the node."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(plan, names.cron_job(plan, look), plan.namespace, {WINDOW: look.words}),
        "spec": {
            "schedule": look.schedule,
            "timeZone": look.time_zone,
            "suspend": False,
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": STARTING_DEADLINE_SECONDS,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"metadata": {"labels": labels(plan)}, "spec": job_spec(plan)},
        },
    }
