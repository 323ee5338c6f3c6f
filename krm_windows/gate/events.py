"""Kubernetes Events on the targets: what a look did to them, whom it left them to, which hook failed."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus

from krm_windows.gate.__main__ import Gate, Told, words_of
from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.marks import digest, mark, read
from krm_windows.gate.target import Deed, Seen, observe
from krm_windows.gate.timetable import Target

_REASONS = {  # the reason of the Event, and its type
    Deed.CLOSED: ("WindowClosed", "Normal"),
    Deed.OPENED: ("WindowOpened", "Normal"),
    Deed.HELD: ("WindowHeld", "Warning"),
    Deed.LEFT_TO_PERSON: ("WindowLeftToPerson", "Warning"),
    Deed.LEFT_TO_POLICY: ("WindowLeftToPolicy", "Normal"),
    Deed.NOT_OPENED: ("WindowNotOpened", "Warning"),
}
_HOOK_FAILED = ("WindowHookFailed", "Warning")
_ZONE_DATA = ("WindowZoneDataDiffers", "Warning")
_ONCE_EACH = (
    "WindowClosed",
    "WindowOpened",
)  # others are found again by the next look, and told once


@dataclass(frozen=True)
class Record:
    """What is told of a target, as it was `seen` (None: it is yet to be); `decision` is what held `at` that instant."""

    seen: Seen | None
    reason: str
    level: str
    words: str
    at: datetime
    decision: Decision


def look(
    gate: Gate, cluster: Cluster, *, allow_missing: bool, around: Callable[..., bool] = Gate.look
) -> bool:
    """Look as `around` does, and write Events of what it does; that one cannot be written is no failure."""
    records: dict[Target, list[Record]] = {target: [] for target in gate.all_targets}

    def tell_on_all(reason: str, level: str, words: str) -> None:
        now = gate.now()
        for found in records.values():
            found.append(Record(None, reason, level, words, now, gate.decides(now)))

    def log(**fields: object) -> None:
        gate.log(**fields)
        if fields.get("hook") and fields.get("trouble"):
            tell_on_all(
                *_HOOK_FAILED,
                f"hooks.{fields['hook']} failed: Job {fields['job']}: {fields['trouble']}",
            )

    def tells(told: Told) -> None:
        gate.tells(told)
        if told.change.deed in _REASONS:
            reason, level = _REASONS[told.change.deed]
            records[told.target].append(
                Record(told.seen, reason, level, told.change.words, told.at, gate.decides(told.at))
            )

    if gate.timetable.image_zones:
        tell_on_all(*_ZONE_DATA, gate.timetable.image_zones)
    well = around(replace(gate, log=log, tells=tells), cluster, allow_missing=allow_missing)
    targets = [target for target, found in records.items() if found]
    cluster.renew(len(targets))
    for target, trouble in cluster.each(
        targets, lambda mine, each: _write_all(gate, mine, each, records[each])
    ):
        for fields in trouble:
            gate.log(target=str(target), **fields)
    return well


def _write_all(
    gate: Gate, cluster: Cluster, target: Target, records: list[Record]
) -> list[dict[str, str]]:
    """Write the Events of a target, unless they are there; give what is to be logged of those that cannot be."""
    trouble = []
    for record in records:
        try:
            _write(gate, cluster, target, record)
        except Exception as error:  # noqa: BLE001 - what is told must not keep the next look from anything
            if not isinstance(error, ApiError) or error.status != HTTPStatus.CONFLICT:
                trouble.append({"event": record.words, "error": words_of(error)})
    return trouble


def _write(gate: Gate, cluster: Cluster, target: Target, record: Record) -> None:
    seen = record.seen or cluster.get(target, observe)
    once = seen.version if record.reason in _ONCE_EACH else str(record.decision.since)
    name = digest(json.dumps([gate.timetable.policy, seen.uid, record.words, once]))
    time = record.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{target.name[:200]}.{name}", "namespace": target.namespace},
        "involvedObject": {
            "apiVersion": seen.api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": seen.uid,
            "resourceVersion": seen.version,
        },
        "type": record.level,
        "reason": record.reason,
        "message": _message(gate, seen, record)[:1024],
        "source": {"component": "krm-windows"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
    cluster.ask("POST", f"/api/v1/namespaces/{target.namespace}/events", event)


def _message(gate: Gate, seen: Seen, record: Record) -> str:
    """Say what happened, by which policy, until when and why then; what hooks keep closed says why in its mark."""
    reason, until = record.decision.reason, record.decision.until
    if record.decision.open and record.reason == "WindowClosed":
        said = read(seen.notes.get(mark(gate.timetable.policy), ""))
        reason = said.reason if said else reason
    clock = f" until {until.astimezone(gate.timetable.zone):%a %Y-%m-%d %H:%M %Z}" if until else ""
    return f"{record.words}, by {gate.timetable.policy}{clock}: {reason}"
