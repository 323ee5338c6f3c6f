"""Kubernetes Events on the targets: what a look did to them, whom it left them to, which hook failed."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus

from krm_windows.gate.__main__ import Gate
from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import ApiError, Cluster, dig
from krm_windows.gate.target import mark
from krm_windows.gate.timetable import Target
from krm_windows.gate.wallclock import zone

_REASONS = {  # by what the words of a look begin with: the reason of the Event, and its type
    "left closed, held:": ("WindowHeld", "Warning"),
    "left closed by a person": ("WindowLeftToPerson", "Warning"),
    "left closed by another policy": ("WindowLeftToPolicy", "Normal"),
    "opened": ("WindowOpened", "Normal"),
    "closed": ("WindowClosed", "Normal"),
    "a person resumed it: closed": ("WindowClosed", "Normal"),
    "hooks.": ("WindowHookFailed", "Warning"),
}


def look(gate: Gate, cluster: Cluster, *, allow_missing: bool, around: Callable[..., bool] = Gate.look) -> bool:
    """Look as `around` does, and write Events of what it logs; that one cannot be written is no failure."""
    records: list[tuple[datetime, Decision, dict[str, object]]] = []

    def log(**fields: object) -> None:
        gate.log(**fields)
        records.append((now := gate.now(), gate.decides(now), fields))

    well = around(replace(gate, log=log), cluster, allow_missing=allow_missing)
    cluster.renew()
    for target in (*gate.timetable.targets, *gate.timetable.released):
        for now, decision, record in records:
            if words := _words(record, target):
                try:
                    _write(gate, cluster, target, words, (now, decision))
                except ApiError as error:
                    if error.status != HTTPStatus.CONFLICT:
                        gate.log(target=str(target), event=words, error=str(error))
    return well


def _words(record: dict[str, object], target: Target) -> str:
    """Say what a record tells of a target; nothing if it is not worth an Event."""
    if record.get("hook") and record.get("trouble"):
        return f"hooks.{record['hook']} failed: Job {record['job']}: {record['trouble']}"
    words = str(record.get("done") or record.get("left") or "") if record.get("target") == str(target) else ""
    return words if words.startswith(tuple(_REASONS)) else ""


def _write(gate: Gate, cluster: Cluster, target: Target, words: str, then: tuple[datetime, Decision]) -> None:
    thing, (now, decision) = cluster.get(target), then
    reason, level = next(found for part, found in _REASONS.items() if words.startswith(part))
    version, uid = (dig(thing, "metadata", key) for key in ("resourceVersion", "uid"))
    # What is left alone, or failed, is found again by the next look: one name for all of them, and one Event.
    once = {"WindowClosed": version, "WindowOpened": version}.get(reason, str(decision.since))
    name = sha256(json.dumps([gate.timetable.policy, uid, words, once]).encode()).hexdigest()[:16]
    time = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{target.name[:200]}.{name}", "namespace": target.namespace},
        "involvedObject": {
            "apiVersion": dig(thing, "apiVersion"),
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": uid,
            "resourceVersion": version,
        },
        "type": level,
        "reason": reason,
        "message": _message(gate, thing, words, decision)[:1024],
        "source": {"component": "krm-windows"},
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
    cluster.ask("POST", f"/api/v1/namespaces/{target.namespace}/events", event)


def _message(gate: Gate, thing: object, words: str, decision: Decision) -> str:
    """Say what happened, by which policy, until when and why then; what hooks keep closed says why in its mark."""
    reason, until = decision.reason, decision.until
    if decision.open and words.endswith("closed"):
        with suppress(KeyError, TypeError, ValueError):  # no mark of ours
            reason = json.loads(str(dig(thing, "metadata", "annotations", mark(gate.timetable.policy))))["reason"]
    clock = f" until {until.astimezone(zone(gate.timetable.time_zone)):%a %Y-%m-%d %H:%M %Z}" if until else ""
    return f"{words}, by {gate.timetable.policy}{clock}: {reason}"
