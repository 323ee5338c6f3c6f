"""The last look of a policy's gate, as its Jobs and CronJobs tell of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from krm_windows.emit.labels import COMPONENT, HOOK, POLICY
from krm_windows.gate.kubernetes import dig
from krm_windows.status.objects import Thing


@dataclass(frozen=True, slots=True)
class Look:
    """A Job that ended: when (UTC), whether well, and the name of the Job or of its CronJob."""

    at: datetime
    succeeded: bool
    name: str


def last(things: Sequence[Thing], label: str) -> Look | None:
    """Return the newest look of the policy whose objects carry a label, None where there was none yet."""
    ours = (
        thing
        for thing in things
        if dig(thing, "metadata", "labels", POLICY) == label and not _is_hook(thing)
    )
    return max(
        (look for thing in ours for look in _looks(thing)), key=lambda look: look.at, default=None
    )


def _is_hook(thing: Thing) -> bool:
    return dig(thing, "metadata", "labels", COMPONENT) == HOOK


def _looks(thing: Thing) -> Iterator[Look]:
    """Yield what an object tells: a CronJob keeps the time of its last success, when its Job is gone (batch/v1).

    That a Job has ended which leaves to the next look what it cannot do tells nothing.
    """
    if "--leave-to-next" in str(dig(thing, "spec", "template", "spec", "containers")):
        return
    name = f"{thing.get('kind')} {dig(thing, 'metadata', 'name')}"
    success = dig(thing, "status", "lastSuccessfulTime")
    if isinstance(success, str):
        yield Look(datetime.fromisoformat(success), succeeded=True, name=name)
    conditions = dig(thing, "status", "conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        at = dig(condition, "lastTransitionTime")
        kind = dig(condition, "type")
        if (
            kind in ("Complete", "Failed")
            and dig(condition, "status") == "True"
            and isinstance(at, str)
        ):
            yield Look(datetime.fromisoformat(at), succeeded=kind == "Complete", name=name)
