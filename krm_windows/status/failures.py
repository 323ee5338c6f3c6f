"""Why no run started, or none succeeded.

What Jobs, Pods and Events say, as a cause and in their own words.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from krm_windows.gate.objects import dig
from krm_windows.status.objects import LiveObject, entries, instant, is_of_gate

# For what has no time: it sorts before every time that a cluster knows.
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
FAILED = "failed"
# What the API server, kubelet and controllers write, and what it means; the first that fits.
_CAUSES = {
    re.compile(r"exceeded quota|failed quota|must specify (limits|requests)"): "quota",
    re.compile(
        r"(minimum|maximum) \S+ usage|limit to request ratio|must be less than or equal to"
    ): "limit range",
    re.compile(r"violates PodSecurity"): "Pod Security",
    re.compile(r"cannot \w+ resource"): "rights",
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
# What ends a run that has started, so that a later start does not show that it is over.
_OF_RUNNING = {"memory", "node", "deadline", "rights"}
# How a Job ended, which says nothing of why.
_ENDS_OF_JOBS = {"DeadlineExceeded", "BackoffLimitExceeded", "PodFailurePolicy"}
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
    is_close: bool = True
    """Whether it is reported by what is close to the cause.

    A Pod or an Event, not the Job that ended for it.
    """
    is_logged: bool = False
    """Whether the newest run has logged it: what it could not do is not done."""


def newest(
    objects: Sequence[LiveObject],
    label: str,
    names: Iterable[str],
    after: datetime | None,
) -> Failure | None:
    """Return the newest failure of a policy after an instant, nearest to the cause first.

    The instant is None for failure of any time. `label` is what its objects carry, `names` are
    those of its CronJobs: Events have no labels.
    """
    ours = [live for live in objects if is_of_gate(live, label)]
    # A Job that is gone leaves Events, so the names of those still there are not enough.
    known = {*names, *(str(dig(live, "metadata", "name")) for live in ours)}
    found = [*_of_jobs(ours), *_of_pods(ours), *_of_events(objects, known)]
    # What an earlier one could not do, the newest has done, or says again.
    ended = newest_pod(objects, label)
    if ended:
        found += _of_log(ended)
    later = [each for each in found if after is None or each.at > after]
    recovery = _Recovery.of(objects, ours, known)
    return max((each for each in later if not recovery.ends(each)), key=_weight, default=None)


@dataclass(frozen=True, slots=True)
class _Recovery:
    """What shows that a failure is over.

    The Pods that have started, when the last one did, when the last Job ended well (also one that
    leaves its work to the next run), and when each CronJob last started a Job; all UTC.
    """

    started: Collection[str]
    start: datetime
    success: datetime
    scheduled: Mapping[str, datetime]

    @classmethod
    def of(
        cls, objects: Iterable[LiveObject], ours: Iterable[LiveObject], names: Collection[str]
    ) -> "_Recovery":
        starts: dict[str, datetime] = {}
        success = _NEVER
        scheduled = {}
        for live in objects:
            # Of a Pod that is gone there may be an Event still.
            about = str(dig(live, "involvedObject", "name"))
            if dig(live, "reason") == "Started" and _is_run(about, names):
                starts[about] = instant(_time_of(live)) or _NEVER
        for live in ours:
            name = str(dig(live, "metadata", "name"))
            for container in entries(live, "status", "containerStatuses"):
                for state in ("running", "terminated"):
                    at = instant(dig(container, "state", state, "startedAt"))
                    if at:
                        starts[name] = at
            for condition in entries(live, "status", "conditions"):
                if dig(condition, "type") == "Complete" and dig(condition, "status") == "True":
                    success = max(success, instant(dig(condition, "lastTransitionTime")) or _NEVER)
            at = instant(dig(live, "status", "lastScheduleTime"))
            if at:
                scheduled[f"CronJob {name}"] = at
        by_pod = {f"Pod {name}" for name in starts}
        return cls(by_pod, max([*starts.values(), success]), success, scheduled)

    def ends(self, failure: Failure) -> bool:
        """Say whether a failure is over."""
        by_schedule = failure.at <= self.scheduled.get(failure.by, _NEVER)
        if failure.is_logged or failure.cause == "missed":
            return by_schedule
        if failure.cause in _OF_RUNNING:
            return failure.at <= self.success
        # That a Job has failed is the end of a run, and nothing that recovers.
        if not failure.is_close:
            return False
        return by_schedule or failure.at <= self.start or failure.by in self.started


def _weight(failure: Failure) -> tuple[bool, bool, datetime]:
    """Sort by how much is known: close to the cause, then with a known cause, then the newest."""
    # A kubelet also warns of what keeps nothing from starting (MissingClusterDNS), again and again:
    # a cause that is known comes first.
    return failure.is_close, failure.cause != FAILED, failure.at


def _of_jobs(objects: Iterable[LiveObject]) -> Iterator[Failure]:
    for live in objects:
        if live.get("kind") != "Job":
            continue
        for condition in entries(live, "status", "conditions"):
            if dig(condition, "type") == "Failed" and dig(condition, "status") == "True":
                at = dig(condition, "lastTransitionTime")
                reason = dig(condition, "reason")
                message = dig(condition, "message")
                yield _failure(live, at, reason, message, is_close=False)


def _of_pods(objects: Iterable[LiveObject]) -> Iterator[Failure]:
    for live in objects:
        if live.get("kind") != "Pod":
            continue
        # What keeps a container waiting has no time of its own.
        at = dig(live, "metadata", "creationTimestamp")
        for condition in entries(live, "status", "conditions"):
            if dig(condition, "type") == "PodScheduled" and dig(condition, "status") == "False":
                reason = dig(condition, "reason")
                yield _failure(live, at, reason, dig(condition, "message"))
        for container in entries(live, "status", "containerStatuses"):
            yield from _of_container(live, container, at)
        # `Evicted` and the like are the Pod's, not of any container (core/v1, PodStatus.reason).
        cause = dig(live, "status", "reason")
        if isinstance(cause, str):
            yield _failure(live, at, cause, dig(live, "status", "message"))


def _of_container(
    live: LiveObject,
    container: object,
    at: object,
) -> Iterator[Failure]:
    waiting = dig(container, "state", "waiting")
    reason = dig(waiting, "reason")
    # Those two are how every container begins (kubelet).
    if reason not in (None, "ContainerCreating", "PodInitializing"):
        yield _failure(live, at, reason, dig(waiting, "message"))
    ended = dig(container, "state", "terminated")
    if dig(ended, "reason") == "OOMKilled":
        # The kubelet has no message for it.
        words = "it exceeded its memory limit"
        yield _failure(live, dig(ended, "finishedAt"), "OOMKilled", words)


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


def _of_log(pod: LiveObject) -> Iterator[Failure]:
    """Yield what a run has logged that it could not do, as its termination message has it."""
    for state in terminated(pod):
        for line in str(state.get("message")).splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            error = dig(record, "error")
            if error:
                found = _failure(pod, state.get("finishedAt"), dig(record, "target"), error)
                yield replace(found, is_logged=True)


def _of_events(objects: Iterable[LiveObject], names: Collection[str]) -> Iterator[Failure]:
    """Yield the warnings about CronJobs, their Jobs and the Jobs' Pods, which may be gone."""
    for live in objects:
        if live.get("kind") != "Event" or dig(live, "type") != "Warning":
            continue
        kind = dig(live, "involvedObject", "kind")
        about = dig(live, "involvedObject", "name")
        if kind not in ("CronJob", "Job", "Pod") or not isinstance(about, str):
            continue
        if not _is_run(about, names):
            continue
        whom: LiveObject = {"kind": kind, "metadata": {"name": about}}
        reason = live.get("reason")
        yield _failure(
            whom,
            at=_time_of(live),
            reason=reason,
            message=live.get("message"),
            is_close=reason not in _ENDS_OF_JOBS,
        )


def _time_of(event: LiveObject) -> object:
    """Return when an Event was: who writes them by the newer API leaves the older field empty."""
    created = dig(event, "metadata", "creationTimestamp")
    # `lastTimestamp` moves on when the same Event comes again, `eventTime` and creation do not.
    return event.get("lastTimestamp") or event.get("eventTime") or created


def _is_run(about: str, names: Collection[str]) -> bool:
    """Say whether this names one of these, or a Job or Pod made from one."""
    return any(about.startswith(name) and _RUN.fullmatch(about, len(name)) for name in names)


def _failure(
    live: LiveObject,
    at: object,
    reason: object,
    message: object,
    *,
    is_close: bool = True,
) -> Failure:
    words = ": ".join(str(part) for part in (reason, message) if part) or FAILED
    # The table's last are the ends of Jobs, which say least, so the first that fits is taken.
    causes = (cause for pattern, cause in _CAUSES.items() if pattern.search(words))
    return Failure(
        at=instant(at) or _NEVER,
        cause=next(causes, FAILED),
        by=f"{live.get('kind')} {dig(live, 'metadata', 'name')}",
        words=words,
        is_close=is_close,
    )
