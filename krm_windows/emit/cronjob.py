"""The CronJobs: those that run the gate, and those that act at an edge."""

from krm_windows.emit import gate, kubectl, names
from krm_windows.emit.job import Pod, job_spec
from krm_windows.emit.labels import WINDOW, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger

# A run that hangs, as its Pod waits for a node, a quota or an image, must not keep those after it
# from starting; two at once do what one does (docs/decisions/0030-runs-may-overlap.md).
# Commands that act wait for each other.
_CONCURRENCY = {"Gate": "Allow", "Kubectl": "Forbid"}


def cron_job(plan: Plan, trigger: Trigger) -> Manifest:
    """Return the CronJob of one trigger.

    One finished Job is kept, so that its image stays on the node.
    """
    pod = _pod(plan, trigger)
    starting_deadline = int(plan.runtime.patience.total_seconds())
    if plan.runs_gate:
        starting_deadline = gate.STARTING_DEADLINE_SECONDS
    name = names.cron_job(plan, trigger)
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata(plan, name, plan.namespace, {WINDOW: trigger.words}),
        "spec": {
            "schedule": trigger.schedule,
            "timeZone": trigger.time_zone,
            # Written down, so that a `suspend` of somebody else is taken back at the next
            # reconcile.
            "suspend": False,
            "concurrencyPolicy": _CONCURRENCY[plan.runtime.actuator],
            "startingDeadlineSeconds": starting_deadline,
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": {"labels": labels(plan)},
                "spec": job_spec(plan, pod),
            },
        },
    }


def _pod(plan: Plan, trigger: Trigger) -> Pod:
    """Return the Pod of a trigger.

    At an edge that in the policy's own zone and that in UTC fire in the same minute: one of the two
    runs begins with the last target (docs/decisions/0030-runs-may-overlap.md).
    """
    if trigger.suspends is not None:
        return kubectl.pod(plan, suspend=trigger.suspends)
    if trigger.time_zone != plan.timetable.time_zone:
        return gate.pod(plan, "--backwards")
    return gate.pod(plan)
