"""Kubernetes Events on the targets: what a run did to them, or why not; which hook failed."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from krm_windows.gate.annotations import annotation, digest, read
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import Json, dig
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Action
from krm_windows.gate.timetable import Target

# What only changes an annotation, or nothing, has no Event.
REASONS = {
    Action.CLOSED: "WindowClosed",
    Action.OPENED: "WindowOpened",
    Action.HELD: "WindowHeld",
    Action.LEFT_TO_PERSON: "WindowLeftToPerson",
    Action.LEFT_TO_POLICY: "WindowLeftToPolicy",
    Action.NOT_OPENED: "WindowNotOpened",
}
HOOK_FAILED = "WindowHookFailed"  # about all targets of a policy
# What every run finds again has one Event while it lasts; these have one each time.
_EACH_TIME = ("WindowClosed", "WindowOpened")
_NORMAL = (*_EACH_TIME, "WindowLeftToPolicy")  # others are warnings


class Record(NamedTuple):
    """What happened to a target `at` an instant: an Event once all targets are up to date."""

    reason: str
    words: str
    at: datetime


def run(
    gate: Gate, cluster: Cluster, *, allow_missing: bool, around: Callable[..., bool] = Gate.run
) -> bool:
    """Run as `around` does, and write Events of what it logs; that one fails is no failure."""
    named: dict[str, list[Target]] = defaultdict(list)  # two kinds may have one name
    for each in gate.all_targets:
        named[str(each)].append(each)
    records: dict[Target, list[Record]] = defaultdict(list)

    def log(**said: Any) -> None:  # noqa: ANN401
        gate.log(**said)
        targets: Sequence[Target] = named.get(said.get("target", ""), ())
        reason, words = REASONS.get(said.get("action", ""), ""), said.get("message", "")
        if said.get("failure"):
            targets, reason = gate.all_targets, HOOK_FAILED
            words = f"hooks.{said['hook']} failed: Job {said['job']}: {said['failure']}"
        for target in targets if reason else ():
            records[target].append(Record(reason, words, gate.now()))

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
        cluster.ask("POST", path, _event(gate, target, cluster.get(target), record))
    except Exception as error:  # noqa: BLE001 - an Event is not worth a failure
        # AlreadyExists: an earlier run has written it under this name.
        is_there = isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT
        return "" if is_there else f"no Event of {record.words!r}: {words_of(error)}"
    return ""


def _event(gate: Gate, target: Target, live: object, record: Record) -> Json:
    policy, decision = gate.timetable.policy, gate.decides(record.at)
    uid, version = (dig(live, "metadata", key) for key in ("uid", "resourceVersion"))
    # A name for each message: the API server refuses a second Event of it.
    occasion = version if record.reason in _EACH_TIME else str(decision.since)
    digits = digest(json.dumps([policy, uid, record.words, occasion]))
    until = f" until {decision.until:%a %Y-%m-%d %H:%M} UTC" if decision.until else ""
    # What hooks keep closed although the window is open says why in its annotation.
    said = read(dig(live, "metadata", "annotations", annotation(policy)))
    reason = said.reason if said and record.reason == "WindowClosed" else decision.reason
    time = record.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # As client-go has it: the target's name and digits, 253 characters at most.
        "metadata": {"name": f"{target.name[:200]}.{digits}", "namespace": target.namespace},
        "involvedObject": {
            "apiVersion": dig(live, "apiVersion"),
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": uid,
            "resourceVersion": version,
        },
        "type": "Normal" if record.reason in _NORMAL else "Warning",
        "reason": record.reason,
        # By which policy, until when and why; as long as events.k8s.io/v1 takes.
        "message": f"{record.words}, by {policy}{until}: {reason}"[:1024],
        # Of core v1, which kubectl describe shows beside those of Flux.
        "source": {"component": "krm-windows"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
