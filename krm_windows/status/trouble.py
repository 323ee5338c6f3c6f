"""Why no look ran, or none succeeded: what Jobs, Pods and Events say, as a cause and in their own words."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from krm_windows.emit.labels import COMPONENT, HOOK, POLICY
from krm_windows.gate.kubernetes import dig
from krm_windows.status.objects import Thing

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
FAILED = "failed"
# What the API server, kubelet and controllers write, and what it means; the first that fits.
_CAUSES = {
    re.compile(r"exceeded quota|failed quota|must specify (limits|requests)"): "quota",
    re.compile(
        r"(minimum|maximum) \S+ usage|limit to request ratio|must be less than or equal to"
    ): "limit range",
    re.compile(r"violates PodSecurity"): "Pod Security",
    re.compile(
        r"admission webhook|ValidatingAdmissionPolicy|denied the request|failed calling webhook"
    ): "admission",
    re.compile(r'serviceaccount "[^"]*" not found'): "account",
    re.compile(r"ImagePull|ErrImage|InvalidImageName|[Ff]ailed to pull|pulling image"): "image",
    re.compile(r"Unschedulable|FailedScheduling"): "no node",
    re.compile(r"DeadlineExceeded"): "deadline",
    re.compile(r"OOMKilled"): "memory",
    re.compile(r"Evicted|Preempt|NodeLost|NodeAffinity"): "node",
    re.compile(r'FailedMount|CreateContainer|configmap "[^"]*" not found'): "configuration",
    re.compile(r"MissSchedule|MissedTimes|TooManyMissed|FailedNeedsStart"): "missed",
    re.compile(r"BackoffLimitExceeded|PodFailurePolicy"): FAILED,
}
# What a CronJob's name has behind it in that of a Job, and a Job's in a Pod's.
_RUN = re.compile(r"(?:-[0-9a-f]+)?(?:-[a-z0-9]{5})?")


@dataclass(frozen=True, slots=True)
class Trouble:
    """What kept a look from starting or from ending well: when (UTC), a cause in a word or two, by whom, and why."""

    at: datetime
    cause: str
    by: str
    words: str
    is_close: bool = True
    """Whether it is told by what is close to the cause: a Pod or an Event, not the Job that ended for it."""


def newest(
    things: Sequence[Thing], label: str, names: Iterable[str], after: datetime | None
) -> Trouble | None:
    """Return the newest trouble of a policy after an instant (None: at any time), what is close to the cause first.

    `label` is what its objects carry, `names` are those of its CronJobs: Events have no labels.
    """
    ours = [thing for thing in things if _is_ours(thing, label)]
    known = {*names, *(str(dig(thing, "metadata", "name")) for thing in ours)}
    found = [*_of_jobs(ours), *_of_pods(ours), *_of_events(things, known)]
    later = [each for each in found if after is None or each.at > after]
    return max(later, key=lambda each: (each.is_close, each.at), default=None)


def _is_ours(thing: Thing, label: str) -> bool:
    labels = dig(thing, "metadata", "labels")
    return dig(labels, POLICY) == label and dig(labels, COMPONENT) != HOOK


def _of_jobs(things: Iterable[Thing]) -> Iterator[Trouble]:
    for thing in things:
        for condition in _list(thing, "status", "conditions"):
            has_failed = dig(condition, "type") == "Failed" and dig(condition, "status") == "True"
            if thing.get("kind") == "Job" and has_failed:
                reason, message = dig(condition, "reason"), dig(condition, "message")
                yield _trouble(
                    thing, dig(condition, "lastTransitionTime"), reason, message, is_close=False
                )


def _of_pods(things: Iterable[Thing]) -> Iterator[Trouble]:
    for thing in things:
        if thing.get("kind") != "Pod":
            continue
        at = dig(thing, "metadata", "creationTimestamp")
        for condition in _list(thing, "status", "conditions"):
            if dig(condition, "type") == "PodScheduled" and dig(condition, "status") == "False":
                yield _trouble(thing, at, dig(condition, "reason"), dig(condition, "message"))
        for container in _list(thing, "status", "containerStatuses"):
            waiting, ended = (
                dig(container, "state", "waiting"),
                dig(container, "state", "terminated"),
            )
            if dig(waiting, "reason") not in (None, "ContainerCreating", "PodInitializing"):
                yield _trouble(thing, at, dig(waiting, "reason"), dig(waiting, "message"))
            if dig(ended, "reason") == "OOMKilled":
                yield _trouble(
                    thing,
                    dig(ended, "finishedAt"),
                    "OOMKilled",
                    "it took more memory than its limit",
                )
        if isinstance(dig(thing, "status", "reason"), str):
            yield _trouble(
                thing, at, dig(thing, "status", "reason"), dig(thing, "status", "message")
            )


def _of_events(things: Iterable[Thing], names: Collection[str]) -> Iterator[Trouble]:
    """Yield the warnings about CronJobs, their Jobs and the Jobs' Pods, which may be gone."""
    for thing in things:
        about = dig(thing, "involvedObject", "name")
        if (
            thing.get("kind") != "Event"
            or dig(thing, "type") != "Warning"
            or not isinstance(about, str)
        ):
            continue
        is_look = dig(thing, "involvedObject", "kind") in ("CronJob", "Job", "Pod")
        if is_look and _is_run(about, names):
            times = (
                thing.get("lastTimestamp"),
                thing.get("eventTime"),
                dig(thing, "metadata", "creationTimestamp"),
            )
            at = next((time for time in times if time), None)
            whom: Thing = {
                "kind": dig(thing, "involvedObject", "kind"),
                "metadata": {"name": about},
            }
            yield _trouble(whom, at, thing.get("reason"), thing.get("message"))


def _is_run(about: str, names: Collection[str]) -> bool:
    """Say whether this is the name of one of these, of a Job that one of them made, or of such a Job's Pod."""
    return any(about.startswith(name) and _RUN.fullmatch(about, len(name)) for name in names)


def _trouble(
    thing: Thing, at: object, reason: object, message: object, *, is_close: bool = True
) -> Trouble:
    words = ": ".join(str(part) for part in (reason, message) if part) or FAILED
    cause = next((cause for pattern, cause in _CAUSES.items() if pattern.search(words)), FAILED)
    return Trouble(
        _instant(at),
        cause,
        f"{thing.get('kind')} {dig(thing, 'metadata', 'name')}",
        words,
        is_close,
    )


def _instant(text: object) -> datetime:
    """Read a time; one that cannot be read was before all others."""
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else _NEVER
    except ValueError:
        return _NEVER
    return found if found.tzinfo else _NEVER


def _list(thing: Thing, *path: str) -> list[object]:
    found = dig(thing, *path)
    return found if isinstance(found, list) else []
