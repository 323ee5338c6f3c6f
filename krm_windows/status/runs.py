"""The last run of a policy's gate, as its Jobs and CronJobs show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.emit.labels import COMPONENT, HOOK, POLICY
from krm_windows.gate.objects import dig
from krm_windows.status.objects import Thing

# The conditions of a Job that has ended (batch/v1, JobConditionType).
_COMPLETE = "Complete"
_ENDS = (_COMPLETE, "Failed")


@dataclass(frozen=True, slots=True)
class Run:
    """A Job that ended: when (UTC), whether well, and the name of the Job or of its CronJob."""

    at: datetime
    succeeded: bool
    name: str


def last(things: Sequence[Thing], label: str) -> Run | None:
    """Return the newest run of the policy whose objects carry a label.

    None where there was none yet.
    """
    found: list[Run] = []
    for thing in things:
        labels = dig(thing, "metadata", "labels")
        # The Jobs of hooks carry the policy's label too, and say nothing of its targets.
        if dig(labels, POLICY) == label and dig(labels, COMPONENT) != HOOK:
            found.extend(_runs(thing))
    return max(found, key=lambda run: run.at, default=None)


def _runs(thing: Thing) -> Iterator[Run]:
    """Yield the runs that an object shows.

    A CronJob keeps the time of its last success, when its Job is gone (batch/v1). A Job
    that leaves to the next run what it cannot do always ends well, so its end proves nothing.
    """
    # An argument of the Job that runs when the policy was edited (emit.apply_job).
    if "--leave-to-next" in str(dig(thing, "spec", "template", "spec", "containers")):
        return
    name = f"{thing.get('kind')} {dig(thing, 'metadata', 'name')}"
    success = dig(thing, "status", "lastSuccessfulTime")
    if isinstance(success, str):
        yield Run(datetime.fromisoformat(success), succeeded=True, name=name)
    # A CronJob has no conditions at all, and a Job that runs none that says that it has ended.
    conditions = dig(thing, "status", "conditions")
    if not isinstance(conditions, list):
        return
    for condition in conditions:
        at = dig(condition, "lastTransitionTime")
        has_ended = dig(condition, "type") in _ENDS and dig(condition, "status") == "True"
        if has_ended and isinstance(at, str):
            succeeded = dig(condition, "type") == _COMPLETE
            yield Run(datetime.fromisoformat(at), succeeded=succeeded, name=name)
