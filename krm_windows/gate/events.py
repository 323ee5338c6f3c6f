"""Kubernetes Events on the targets: what a run did to them, or why not; which hook failed."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from krm_windows.gate.annotations import annotation, digest, read
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.run import Gate, Report, words_of
from krm_windows.gate.target import Action, Observed, observe
from krm_windows.gate.timetable import Decision, Target


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


@dataclass(frozen=True)
class Record:
    """What an Event says of a target, as it was `observed` (None: it is yet to be read).

    `decision` is what held `at` that instant.
    """

    observed: Observed | None
    event_type: EventType
    words: str
    at: datetime
    decision: Decision


class Recorder:
    """The Events to write about each target of a gate, in order."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.records: dict[Target, list[Record]] = {target: [] for target in gate.all_targets}

    def about_all(self, event_type: EventType, words: str) -> None:
        """Record what concerns every target."""
        now = self._gate.now()
        record = Record(None, event_type, words, now, self._gate.decides(now))
        for records in self.records.values():
            records.append(record)

    def warns(self, words: str) -> None:
        """Record that a hook has failed."""
        self._gate.warns(words)
        self.about_all(_HOOK_FAILED, words)

    def reports(self, report: Report) -> None:
        """Record what was done to a target, or why it was left."""
        self._gate.reports(report)
        event_type = _EVENT_TYPES.get(report.change.action)
        if event_type is None:
            return
        decision = self._gate.decides(report.at)
        words = report.change.words
        record = Record(report.observed, event_type, words, report.at, decision)
        self.records[report.target].append(record)


def run(
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
    around: Callable[..., bool] = Gate.run,
) -> bool:
    """Run as `around` does, and write Events of what it does; that one fails is no failure."""
    recorder = Recorder(gate)
    recording = replace(gate, reports=recorder.reports, warns=recorder.warns)
    well = around(recording, cluster, allow_missing=allow_missing)
    # Only now, so that whatever becomes of Events, targets are up to date.
    records = {target: found for target, found in recorder.records.items() if found}
    cluster.renew(len(records))

    def write(mine: Cluster, target: Target) -> list[dict[str, str]]:
        return _write_all(gate, mine, target, records[target])

    for target, failed in cluster.each(list(records), write):
        for fields in failed:
            gate.log(target=str(target), **fields)
    return well


def _write_all(
    gate: Gate,
    cluster: Cluster,
    target: Target,
    records: list[Record],
) -> list[dict[str, str]]:
    """Write the Events of a target, unless they are there; give what to log of those that fail."""
    failed = []
    for record in records:
        try:
            _write(gate, cluster, target, record)
        except Exception as error:  # noqa: BLE001 - an Event is not worth a failure
            if not _is_there(error):
                failed.append({"event": record.words, "error": words_of(error)})
    return failed


def _is_there(error: Exception) -> bool:
    # AlreadyExists: an earlier run has written it under this name.
    return isinstance(error, ApiError) and error.status == HTTPStatus.CONFLICT


def _write(
    gate: Gate,
    cluster: Cluster,
    target: Target,
    record: Record,
) -> None:
    observed = record.observed or cluster.get(target, observe)
    time = record.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            # As client-go has it: the target's name and digits, 253 characters at most.
            "name": f"{target.name[:200]}.{_digits(gate, observed, record)}",
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
        "message": _message(gate, observed, record)[:1024],  # as long as events.k8s.io/v1 takes
        # Of core v1, which kubectl describe shows beside those of Flux.
        "source": {"component": "krm-windows"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
    cluster.ask("POST", f"/api/v1/namespaces/{target.namespace}/events", event)


def _digits(gate: Gate, observed: Observed, record: Record) -> str:
    """Give the same digits for the same message: the API server refuses a second Event of it."""
    occasion = str(record.decision.since)  # once in each window
    if record.event_type.each_time:
        occasion = observed.version
    return digest(json.dumps([gate.timetable.policy, observed.uid, record.words, occasion]))


def _message(gate: Gate, observed: Observed, record: Record) -> str:
    """Say what happened, by which policy, until when and why then."""
    message = f"{record.words}, by {gate.timetable.policy}"
    if record.decision.until:
        until = gate.timetable.shown(record.decision.until)
        message += f" until {until:%a %Y-%m-%d %H:%M %Z}"
    return f"{message}: {_reason(gate, observed, record)}"


def _reason(gate: Gate, observed: Observed, record: Record) -> str:
    """Say why; what hooks keep closed although the window is open says why in its annotation."""
    if record.event_type is _CLOSED and record.decision.open:
        said = read(observed.annotations.get(annotation(gate.timetable.policy), ""))
        if said:
            return said.reason
    return record.decision.reason
