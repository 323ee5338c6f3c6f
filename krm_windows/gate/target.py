"""One target: what is read of its object, and what to change so that it becomes what it should be."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import dig
from krm_windows.gate.marks import (
    HOLD,
    HOOKS,
    MARKS,
    ZONE_DATA,
    Mark,
    Writer,
    believed,
    instant,
    mark,
    read,
    writer,
)
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.gate.wallclock import utc

_FIRST_APPLY = timedelta(hours=1)
_LONGEST_REASON = 1024  # characters: all annotations of an object have 256 KiB together, and a mark must never be refused
_ANNOTATIONS = ("metadata", "annotations")


class Deed(Enum):
    """What comes of a target: something is done, or it is left as it is."""

    NOTHING = "nothing"
    CLOSED = "closed"
    OPENED = "opened"
    MARKED = "marked"
    HELD = "held"
    LEFT_TO_PERSON = "left to a person"
    LEFT_TO_POLICY = "left to another policy"
    NOT_OPENED = "not opened"

    @property
    def verb(self) -> str:
        """Say under which key the log tells of it."""
        return "done" if self in (Deed.CLOSED, Deed.OPENED, Deed.MARKED) else "left"


@dataclass(frozen=True)
class Seen:
    """What an object says that counts here.

    `notes` are those of its annotations that mean something to gates, `writers` says who wrote them, and `suspended_by`
    who wrote the suspend field; `conditions` are the reasons of those that hold, by type.
    """

    version: str
    suspended: bool
    suspended_by: Writer
    applied: bool
    created: datetime | None
    notes: dict[str, str]
    writers: dict[str, Writer]
    conditions: dict[str, str] = field(default_factory=dict)
    api_version: str = ""
    uid: str = ""


@dataclass(frozen=True)
class Change:
    """A JSON merge patch (RFC 7386), empty if none is due; what it does, or why there is none; and that in words."""

    patch: dict[str, object]
    deed: Deed = Deed.NOTHING
    words: str = ""

    def turns(self, target: Target) -> bool | None:
        """Say what it writes into the field of `target`; None if it leaves that alone."""
        written = dig(self.patch, *target.field)
        return written if isinstance(written, bool) else None


def observe(target: Target, thing: object) -> Seen:
    """Read the object of `target` as the API server gives it; raise `ValueError` for what cannot be one.

    It is read strictly, as what is not understood must not be changed. Only the time of its creation may be anything:
    one that cannot be read keeps nothing open.
    """
    for key, wanted in (("name", target.name), ("namespace", target.namespace)):
        if dig(thing, "metadata", key) not in (None, wanted):
            raise ValueError(f"is another object: its {key} is {dig(thing, 'metadata', key)!r}")
    version = _find(thing, "metadata", "resourceVersion")
    if version is not None and not isinstance(version, str):
        raise ValueError(f"has the resourceVersion {version!r}")
    suspended = _find(thing, *target.field)
    if suspended is not None and not isinstance(suspended, bool):
        raise ValueError(f"has {suspended!r} in {'.'.join(target.field)}")
    notes = _notes(thing)
    applied = [_is_filled(thing, key) for key in target.applied]
    return Seen(
        version=version or "",
        suspended=bool(suspended),
        suspended_by=writer(thing, *target.field),
        applied=True in applied,
        created=_created(thing),
        notes=notes,
        writers={key: writer(thing, *_ANNOTATIONS, key) for key in notes},
        conditions={kind: str(dig(each, "reason")) for kind, each in held(thing).items()},
        api_version=str(dig(thing, "apiVersion") or ""),
        uid=str(dig(thing, "metadata", "uid") or ""),
    )


def _find(thing: object, *path: str) -> object:
    """Give what lies at `path`, None where there is nothing; raise `ValueError` where something else is on the way."""
    for key in path:
        if thing is not None and not isinstance(thing, dict):
            raise ValueError(f"has no map above {'.'.join(path)}")
        thing = thing.get(key) if thing else None
    return thing


def _notes(thing: object) -> dict[str, str]:
    annotations = _find(thing, *_ANNOTATIONS)
    if not isinstance(annotations, dict | None):
        raise ValueError("has annotations that are no map")  # noqa: TRY004 - the object is wrong
    notes = {
        key: text
        for key, text in (annotations or {}).items()
        if key == HOLD or key.startswith((MARKS, HOOKS))
    }
    if not all(isinstance(text, str) for text in notes.values()):
        raise ValueError("has annotations that are no texts")
    return notes


def _is_filled(thing: object, key: str) -> bool:
    found = _find(thing, "status", key)
    if found is not None and not isinstance(found, str | list | dict):
        raise ValueError(f"has {found!r} in status.{key}")
    return bool(found)


def _created(thing: object) -> datetime | None:
    try:
        return instant(dig(thing, "metadata", "creationTimestamp"))
    except (TypeError, ValueError, OverflowError):
        return None


def held(thing: object) -> dict[str, object]:
    """Give the conditions of an object that hold, by type."""
    found = dig(thing, "status", "conditions")
    conditions = found if isinstance(found, list) else []
    return {str(dig(each, "type")): each for each in conditions if dig(each, "status") == "True"}


def settle(
    timetable: Timetable, target: Target, seen: Seen, decision: Decision, now: datetime
) -> Change:
    """Say what makes `target`, `seen` as it is, what it should be at the instant `now`."""
    policies = {said.policy for said in believed_marks(seen, now)}
    mine, others = policies & set(_names(timetable)), policies - set(_names(timetable))
    is_released = target in timetable.released
    opens = decision.open or is_released or _may_start(timetable, target, seen, now)
    if seen.suspended:
        left = _left_alone(timetable, target, seen, now, opens=opens, mine=mine, others=others)
        if left:
            return left
    notes: dict[str, str | None] = dict.fromkeys(map(mark, _names(timetable)))
    if not opens:
        notes[mark(timetable.policy)] = _words_of_mark(timetable, seen, decision)
    if (
        not opens and not seen.suspended
    ):  # stale marks, on what nobody closes: their policies are gone
        notes |= {key: None for key in seen.notes if key.startswith(MARKS) and key not in notes}
    if is_released:
        notes |= {mark(name, HOOKS): None for name in _names(timetable)}
    changed = {key: value for key, value in notes.items() if seen.notes.get(key) != value}
    suspend = not opens or (seen.suspended and bool(others))
    return _change(
        target, seen, changed, suspend=suspend, resumed=bool(mine) and not seen.suspended
    )


def _names(timetable: Timetable) -> tuple[str, ...]:
    return (timetable.policy, *timetable.former_names)


def believed_marks(seen: Seen, now: datetime) -> list[Mark]:
    """Give what the marks say that are believed, in the order of their keys."""
    suspended_by = seen.suspended_by if seen.suspended else Writer.UNKNOWN
    found = []
    for key in sorted(seen.notes):
        said = read(seen.notes[key]) if key.startswith(MARKS) else None
        if said and believed(key, said, seen.writers[key], suspended_by, now):
            found.append(said)
    return found


def _is_new(target: Target, seen: Seen) -> bool:
    """Say whether a target was never applied; of a kind that does not tell, none is new."""
    return bool(target.applied) and not seen.applied


def _may_start(timetable: Timetable, target: Target, seen: Seen, now: datetime) -> bool:
    """Say whether it stays open to be applied for the first time.

    At most for an hour: what is yet to be created, by the clocks of two machines or by a lie, is not young.
    """
    if timetable.first_apply != "Allow" or not _is_new(target, seen) or seen.created is None:
        return False
    return timedelta(0) <= now - seen.created < _FIRST_APPLY


def _adopts(timetable: Timetable, target: Target, seen: Seen, now: datetime) -> bool:
    """Say whether a suspension without a mark counts as ours."""
    if timetable.first_apply == "Wait" and _is_new(target, seen):
        return True
    until = timetable.adopt_until
    return until is not None and now < utc(until, timetable.zone)


def _left_alone(  # noqa: PLR0913 - what `settle` has found out
    timetable: Timetable,
    target: Target,
    seen: Seen,
    now: datetime,
    *,
    opens: bool,
    mine: set[str],
    others: set[str],
) -> Change | None:
    """Say why a suspended target is left as it is, if it is."""
    if opens and HOLD in seen.notes:
        return Change({}, Deed.HELD, f"left closed, held: {seen.notes[HOLD]}")
    if mine:
        return None
    if others:
        return Change({}, Deed.LEFT_TO_POLICY, "left closed by another policy") if opens else None
    if _adopts(timetable, target, seen, now):
        return None
    words = "left closed by a person"
    if any(mark(name) in seen.notes for name in _names(timetable)):
        words += ", as the mark on it is not the gate's"
    return Change({}, Deed.LEFT_TO_PERSON, words)


def _words_of_mark(timetable: Timetable, seen: Seen, decision: Decision) -> str:
    said: dict[str, object] = {
        "policy": timetable.policy,
        "reason": _cut(decision.reason),
        "since": decision.since,
        "until": decision.until,
    }
    if seen.suspended and seen.suspended_by is Writer.OTHER:
        said["adopted"] = True
    if timetable.image_zones:  # for `status` and the alert, which looks for this key
        said[ZONE_DATA] = timetable.image_zones
    return json.dumps(said, default=datetime.isoformat)


def _cut(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def _change(
    target: Target, seen: Seen, notes: dict[str, str | None], *, suspend: bool, resumed: bool
) -> Change:
    """Make the patch that writes what differs, for the version that was read."""
    metadata: dict[str, object] = {"resourceVersion": seen.version}
    if notes:
        metadata["annotations"] = notes
    patch: dict[str, object] = {"metadata": metadata}
    deed = Deed.MARKED if notes else Deed.NOTHING
    if suspend != seen.suspended:
        patch |= _nested(target.field, suspend)
        deed = Deed.CLOSED if suspend else Deed.OPENED
    if deed is Deed.NOTHING:
        return Change({})
    words = {Deed.MARKED: "mark updated", Deed.CLOSED: "closed", Deed.OPENED: "opened"}[deed]
    return Change(patch, deed, f"a person resumed it: {words}" if resumed else words)


def _nested(path: tuple[str, ...], value: object) -> dict[str, object]:
    for key in reversed(path):
        value = {key: value}
    return dict(value) if isinstance(value, dict) else {}
