"""The last run of a policy's gate, as its Jobs and CronJobs show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.gate.objects import dig
from krm_windows.status.objects import LiveObject, entries, instant, is_of_gate

# The conditions of a Job that has ended (batch/v1, JobConditionType).
_COMPLETE = "Complete"
_ENDS = (_COMPLETE, "Failed")
# An argument of the Job that runs when the policy was edited (emit.apply_job).
_LEAVES_TO_NEXT = "--leave-to-next"


@dataclass(frozen=True, slots=True)
class Run:
    """A Job that ended: when (UTC), whether well, and the name of the Job or of its CronJob."""

    at: datetime
    succeeded: bool
    name: str


def last(objects: Sequence[LiveObject], label: str) -> Run | None:
    """Return the newest run of the policy whose objects carry a label.

    None where there was none yet.
    """
    found: list[Run] = []
    for live in objects:
        if is_of_gate(live, label):
            found.extend(_runs(live))
    return max(found, key=lambda run: run.at, default=None)


def _runs(live: LiveObject) -> Iterator[Run]:
    """Yield the runs that an object shows.

    A CronJob keeps the time of its last success, when its Job is gone (batch/v1). A Job
    that leaves to the next run what it cannot do always ends well, so its end proves nothing.
    """
    if _leaves_to_next(live):
        return
    name = f"{live.get('kind')} {dig(live, 'metadata', 'name')}"
    success = instant(dig(live, "status", "lastSuccessfulTime"))
    if success is not None:
        yield Run(success, succeeded=True, name=name)
    # A CronJob has no conditions at all, and a Job that runs none that says that it has ended.
    for condition in entries(live, "status", "conditions"):
        at = instant(dig(condition, "lastTransitionTime"))
        has_ended = dig(condition, "type") in _ENDS and dig(condition, "status") == "True"
        if has_ended and at is not None:
            succeeded = dig(condition, "type") == _COMPLETE
            yield Run(at, succeeded=succeeded, name=name)


def _leaves_to_next(job: LiveObject) -> bool:
    """Say whether a Job leaves to the next run what it cannot do."""
    for container in entries(job, "spec", "template", "spec", "containers"):
        for part in ("command", "args"):
            words = dig(container, part)
            if isinstance(words, list) and _LEAVES_TO_NEXT in words:
                return True
    return False
