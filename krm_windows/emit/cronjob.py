"""The CronJobs: those that run the gate, and those that act at an edge."""

from krm_windows.emit import gate, kubectl, names
from krm_windows.emit.job import Pod, job_spec
from krm_windows.emit.labels import WINDOW, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan
from krm_windows.plan.triggers import Trigger

# A run that hangs, as its Pod waits for a node, a quota or an image, must not keep those after it
# from starting; two at once do what one does (docs/decisions/0024).
# Commands that act wait for each other.
_CONCURRENCY = {"Gate": "Allow", "Kubectl": "Forbid"}
# `suspend` is written down, so that one of somebody else is taken back at the next reconcile.
_CRON_JOB = read("""
apiVersion: batch/v1
kind: CronJob
metadata: $metadata
spec:
  schedule: $schedule
  timeZone: $time_zone
  suspend: false
  concurrencyPolicy: $concurrency
  startingDeadlineSeconds: $starting_deadline
  successfulJobsHistoryLimit: 1
  failedJobsHistoryLimit: 1
  jobTemplate: {metadata: {labels: $labels}, spec: $job}
""")


def cron_job(plan: Plan, trigger: Trigger) -> Manifest:
    """Return the CronJob of one trigger.

    One finished Job is kept, so that its image stays on the node.
    """
    starting_deadline = int(plan.patience.total_seconds())
    if plan.runs_gate:
        starting_deadline = gate.STARTING_DEADLINE_SECONDS
    return fill(
        _CRON_JOB,
        metadata=metadata(
            plan, names.cron_job(plan, trigger), plan.namespace, {WINDOW: trigger.words}
        ),
        schedule=trigger.schedule,
        time_zone=trigger.time_zone,
        concurrency=_CONCURRENCY[plan.actuator.type],
        starting_deadline=starting_deadline,
        labels=labels(plan),
        job=job_spec(plan, _pod(plan, trigger)),
    )


def _pod(plan: Plan, trigger: Trigger) -> Pod:
    """Return the Pod of a trigger.

    At an edge that in the policy's own zone and that in UTC fire in the same minute: one of the two
    runs begins with the last target (docs/decisions/0024).
    """
    if trigger.suspends is not None:
        return kubectl.pod(plan, suspend=trigger.suspends)
    if trigger.time_zone != plan.timetable.time_zone:
        return gate.pod(plan, "--backwards")
    return gate.pod(plan)
