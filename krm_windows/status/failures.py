"""Why no run started, or none succeeded.

What Jobs, Pods and Events say, as a cause and in their own words.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from krm_windows.gate.objects import dig
from krm_windows.status.objects import LiveObject, entries, instant, is_of_gate

# For what has no time: it sorts before every time that a cluster knows.
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
FAILED = "failed"
_DEADLINE = "deadline"
# What it means that the API server, kubelet and controllers write; the first that fits.
_CAUSES = {
    "quota": r"exceeded quota|failed quota|must specify (limits|requests)",
    "limit range": (
        r"(minimum|maximum) \S+ usage|limit to request ratio|must be less than or equal to"
    ),
    "Pod Security": r"violates PodSecurity",
    "rights": r"cannot \w+ resource",
    "admission": (
        r"admission webhook|ValidatingAdmissionPolicy|denied the request|failed calling webhook"
    ),
    "account": r'serviceaccount "[^"]*" not found',
    "image": r"ImagePull|ErrImage|InvalidImageName|[Ff]ailed to pull|pulling image",
    "no node": r"Unschedulable|FailedScheduling",
    _DEADLINE: r"DeadlineExceeded",
    "memory": r"OOMKilled",
    "node": r"Evicted|Preempt|NodeLost|NodeAffinity",
    "configuration": r'FailedMount|CreateContainer|configmap "[^"]*" not found',
    "missed": r"MissSchedule|MissedTimes|TooManyMissed|FailedNeedsStart",
}
# `week-open-29384756` is a Job of the CronJob `week-open`, `week-open-29384756-x7k2p` its Pod.
# What a CronJob's name has behind it in that of a Job, and a Job's in a Pod's.
_RUN = re.compile(r"(?:-[0-9a-f]+)?(?:-[a-z0-9]{5})?")


@dataclass(frozen=True, slots=True)
class Failure:
    """What kept a run from starting or from ending well.

    When (UTC), a cause in a word or two, by whom, and why.
    """

    at: datetime
    cause: str
    by: str
    words: str


def newest(
    objects: Sequence[LiveObject], label: str, names: Iterable[str], after: datetime | None
) -> Failure | None:
    """Return the newest failure of a policy after an instant (None: ever), a known cause first.

    `label` is what its objects carry, `names` are those of its CronJobs: Events have no labels.
    """
    ours = [live for live in objects if is_of_gate(live, label)]
    # A Job that is gone leaves Events, so the names of those still there are not enough.
    known = {*names, *(str(dig(live, "metadata", "name")) for live in ours)}
    events = [each for each in objects if _is_warning(each, known)]
    found = [*map(_of_event, events), *_of_jobs(ours), *_of_pods(ours)]
    # What kept an earlier Pod from starting, or ended it, is over once a Pod has started.
    started = max(_starts(ours), default=_NEVER)
    current = [each for each in found if each.at >= started and (not after or each.at > after)]
    # A kubelet also warns of what hinders nothing (MissingClusterDNS), and that a Job took too
    # long says nothing of why.
    return max(
        current, key=lambda each: (each.cause not in (FAILED, _DEADLINE), each.at), default=None
    )


def newest_pod(objects: Iterable[LiveObject], label: str) -> LiveObject | None:
    """Return the Pod of a policy's gate whose container has ended last, None without one."""
    ended = {}
    for live in objects:
        if live.get("kind") == "Pod" and is_of_gate(live, label):
            for state in terminated(live):
                ended[instant(state.get("finishedAt")) or _NEVER] = live
    return ended[max(ended)] if ended else None


def terminated(pod: LiveObject) -> Iterator[dict[str, object]]:
    """Yield how each container of a Pod has ended."""
    for container in entries(pod, "status", "containerStatuses"):
        state = dig(container, "state", "terminated")
        if isinstance(state, dict):
            yield state


def _starts(pods: Iterable[LiveObject]) -> Iterator[datetime]:
    for pod in pods:
        for container in entries(pod, "status", "containerStatuses"):
            for state in ("running", "terminated"):
                if at := instant(dig(container, "state", state, "startedAt")):
                    yield at


def _of_jobs(objects: Iterable[LiveObject]) -> Iterator[Failure]:
    for live in objects:
        for condition in entries(live, "status", "conditions"):
            if dig(condition, "type") == "Failed" and dig(condition, "status") == "True":
                yield _failure(live, dig(condition, "lastTransitionTime"), condition)


def _of_pods(objects: Iterable[LiveObject]) -> Iterator[Failure]:
    """Yield how Pods have ended; what keeps one from starting is said by Events."""
    for live in objects:
        for state in terminated(live):
            if state.get("reason") == "OOMKilled":
                yield _failure(live, state.get("finishedAt"), state)
            yield from _of_log(live, state)


def _of_log(pod: LiveObject, state: dict[str, object]) -> Iterator[Failure]:
    """Yield what a run has logged that it could not do, as its termination message has it."""
    for line in str(state.get("message")).splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if error := dig(record, "error"):
            said = {"reason": dig(record, "target"), "message": error}
            yield _failure(pod, state.get("finishedAt"), said)


def _is_warning(live: LiveObject, names: Iterable[str]) -> bool:
    """Whether it is an Event that warns of one of some CronJobs, of its Jobs or their Pods."""
    if live.get("kind") != "Event" or live.get("type") != "Warning":
        return False
    about = str(dig(live, "involvedObject", "name"))
    return dig(live, "involvedObject", "kind") in ("CronJob", "Job", "Pod") and any(
        about.startswith(name) and _RUN.fullmatch(about, len(name)) for name in names
    )


def _of_event(event: LiveObject) -> Failure:
    about = dig(event, "involvedObject")
    whom: LiveObject = {"kind": dig(about, "kind"), "metadata": about}
    created = dig(event, "metadata", "creationTimestamp")
    # `lastTimestamp` moves on when the same Event comes again, `eventTime` and creation do not; who
    # writes Events by the newer API leaves it empty.
    at = event.get("lastTimestamp") or event.get("eventTime") or created
    return _failure(whom, at, event)


def _failure(live: LiveObject, at: object, said: object) -> Failure:
    """Return what an object says by a `reason` and a `message`."""
    parts = (dig(said, "reason"), dig(said, "message"))
    words = ": ".join(str(part) for part in parts if part) or FAILED
    causes = (cause for cause, pattern in _CAUSES.items() if re.search(pattern, words))
    by = f"{live.get('kind')} {dig(live, 'metadata', 'name')}"
    return Failure(instant(at) or _NEVER, next(causes, FAILED), by, words)
