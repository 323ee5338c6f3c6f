"""Whose suspension is it: what to change on one target, told from its marks."""

import json
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import reduce
from hashlib import sha256

from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import dig
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.gate.wallclock import utc, zone

HOLD = "krm-windows.dev/hold"
MARKS, HOOKS = "closed-by.krm-windows.dev/", "hooks.krm-windows.dev/"
_FIRST_APPLY = timedelta(hours=1)
Change = tuple[dict[str, object], str]  # a JSON merge patch (RFC 7386), empty if none is due, and the matter in words


def mark(policy: str, prefix: str = MARKS) -> str:
    """Name the annotation by which the policy `namespace/name` says that a suspension is its own."""
    return prefix + sha256(policy.encode()).hexdigest()[:10]


def settle(timetable: Timetable, target: Target, thing: object, decision: Decision, now: datetime) -> Change:
    """Say what makes `thing`, the object of `target`, what it should be at the instant `now`."""
    found = dig(thing, "metadata", "annotations")
    notes = found if isinstance(found, dict) else {}
    names = (timetable.policy, *timetable.former_names)
    ours: dict[str, str | None] = dict.fromkeys(map(mark, names))
    mine, others = notes.keys() & ours.keys(), [note for note in notes if note.startswith(MARKS) and note not in ours]
    suspended = dig(thing, *target.field) is True
    new = bool(target.applied) and not any(dig(thing, "status", field) for field in target.applied)
    until = timetable.adopt_until
    adopts = (new and timetable.first_apply == "Wait") or (until and now < utc(until, zone(timetable.time_zone)))
    created = dig(thing, "metadata", "creationTimestamp")
    young = isinstance(created, str) and now - datetime.fromisoformat(created) < _FIRST_APPLY
    starts = new and young and timetable.first_apply == "Allow"
    opens = decision.open or starts or target in timetable.released
    if suspended and opens and HOLD in notes:
        return {}, f"left closed, held: {notes[HOLD]}"
    if suspended and not mine and (opens if others else not adopts):
        return {}, f"left closed by {'another policy' if others else 'a person'}"
    if not opens:
        reasons = {key: asdict(decision)[key] for key in ("reason", "since", "until")}
        ours[mark(timetable.policy)] = json.dumps({"policy": timetable.policy, **reasons}, default=datetime.isoformat)
        ours |= {} if suspended else dict.fromkeys(others)  # stale on what nobody closes: their policies are gone
    ours |= dict.fromkeys(mark(name, HOOKS) for name in names) if target in timetable.released else {}
    marks = {note: value for note, value in ours.items() if notes.get(note) != value}
    suspend = not opens or (suspended and bool(others))
    words = "mark updated" if suspend == suspended else "closed" if suspend else "opened"
    patch = _patch(target, thing, marks, None if suspend == suspended else suspend)
    return patch, f"a person resumed it: {words}" if mine and not suspended else words if patch else ""


def _patch(target: Target, thing: object, marks: dict[str, str | None], suspend: object) -> dict[str, object]:
    version = {"resourceVersion": dig(thing, "metadata", "resourceVersion")}
    patch: dict[str, object] = {"metadata": {**version, "annotations": marks} if marks else version}
    if suspend is not None:
        patch[target.field[0]] = reduce(lambda inner, key: {key: inner}, reversed(target.field[1:]), suspend)
    return patch if marks or suspend is not None else {}
