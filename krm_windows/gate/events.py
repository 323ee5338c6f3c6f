"""Kubernetes Events on the targets: what a run did to them, or why not; which hook failed."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from http import HTTPStatus
from typing import Any, NamedTuple

from krm_windows.gate.annotations import annotation, digest, read
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Action, Observed, observe
from krm_windows.gate.timetable import Target


class EventType(NamedTuple):
    """The `reason` and the type of an Event.

    What every run finds again has one Event while it lasts; an action has one `each_time`.
    """

    reason: str
    type: str
    each_time: bool = False


_CLOSED = EventType("WindowClosed", "Normal", each_time=True)
# What only changes an annotation, or nothing, has no Event.
_EVENT_TYPES = {
    Action.CLOSED: _CLOSED,
    Action.OPENED: EventType("WindowOpened", "Normal", each_time=True),
    Action.HELD: EventType("WindowHeld", "Warning"),
    Action.LEFT_TO_PERSON: EventType("WindowLeftToPerson", "Warning"),
    Action.LEFT_TO_POLICY: EventType("WindowLeftToPolicy", "Normal"),
    Action.NOT_OPENED: EventType("WindowNotOpened", "Warning"),
}
# These are about all targets of a policy.
_HOOK_FAILED = EventType("WindowHookFailed", "Warning")


class Record(NamedTuple):
    """What happened to a target `at` an instant: an Event once all targets are up to date."""

    event_type: EventType
    words: str
    at: datetime


def run(
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
    around: Callable[..., bool] = Gate.run,
) -> bool:
    """Run as `around` does, and write Events of what it logs; that one fails is no failure."""
    named: dict[str, list[Target]] = defaultdict(list)  # two kinds may have one name
    for each in gate.all_targets:
        named[str(each)].append(each)
    records: dict[Target, list[Record]] = defaultdict(list)

    def log(**said: Any) -> None:  # noqa: ANN401
        gate.log(**said)
        now = gate.now()
        event_type = _EVENT_TYPES.get(said.get("action", ""))
        if event_type:
            for target in named.get(said.get("target", ""), ()):
                records[target].append(Record(event_type, said["message"], now))
        if said.get("failure"):
            words = f"hooks.{said['hook']} failed: Job {said['job']}: {said['failure']}"
            for target in gate.all_targets:
                records[target].append(Record(_HOOK_FAILED, words, now))

    well = around(replace(gate, log=log), cluster, allow_missing=allow_missing)

    def write(mine: Cluster, target: Target) -> list[str]:
        return list(filter(None, (_write(gate, mine, target, each) for each in records[target])))

    # Only now, so that whatever becomes of Events, targets are up to date.
    cluster.renew(len(records))
    for target, errors in cluster.each(list(records), write):
        for error in errors:
            gate.log(target=str(target), error=error)
    return well


def _write(gate: Gate, cluster: Cluster, target: Target, record: Record) -> str:
    """Write an Event, unless it is there; say what it cannot be written for."""
    path = f"/api/v1/namespaces/{target.namespace}/events"
    try:
        observed = observe(target, cluster.get(target))
        cluster.ask("POST", path, _event(gate, target, observed, record))
    except Exception as error:  # noqa: BLE001 - an Event is not worth a failure
        # AlreadyExists: an earlier run has written it under this name.
        is_there = isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT
        return "" if is_there else f"no Event of {record.words!r}: {words_of(error)}"
    return ""


def _event(gate: Gate, target: Target, observed: Observed, record: Record) -> dict[str, object]:
    policy, decision = gate.timetable.policy, gate.decides(record.at)
    # A name for each message: the API server refuses a second Event of it.
    occasion = observed.version if record.event_type.each_time else str(decision.since)
    digits = digest(json.dumps([policy, observed.uid, record.words, occasion]))
    until = ""
    if decision.until:
        until = f" until {_shown(gate.timetable.clocks, decision.until):%a %Y-%m-%d %H:%M %Z}"
    # What hooks keep closed although the window is open says why in its annotation.
    said = read(observed.annotations.get(annotation(policy), ""))
    reason = said.reason if said and record.event_type is _CLOSED else decision.reason
    time = record.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            # As client-go has it: the target's name and digits, 253 characters at most.
            "name": f"{target.name[:200]}.{digits}",
            "namespace": target.namespace,
        },
        "involvedObject": {
            "apiVersion": observed.api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": observed.uid,
            "resourceVersion": observed.version,
        },
        "type": record.event_type.type,
        "reason": record.event_type.reason,
        # By which policy, until when and why; as long as events.k8s.io/v1 takes.
        "message": f"{record.words}, by {policy}{until}: {reason}"[:1024],
        # Of core v1, which kubectl describe shows beside those of Flux.
        "source": {"component": "krm-windows"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }


def _shown(clocks: Sequence[str], at: datetime) -> datetime:
    """Give an instant as clocks in the policy's time zone show it."""
    zone: tzinfo = UTC
    for text in clocks:
        since, offset, name = text.split()
        if datetime.fromisoformat(since) <= at:
            zone = timezone(datetime.strptime(offset, "%z").utcoffset() or timedelta(), name)
    return at.astimezone(zone)
