"""One target: what is read of its object, and what makes it what it should be."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from krm_windows.gate import annotations
from krm_windows.gate.annotations import CLOSED_BY, HOLD, HOOKS, ClosedBy, Writer, annotation
from krm_windows.gate.objects import cut, dig
from krm_windows.gate.timetable import Decision, Target, Timetable

_FIRST_APPLY = timedelta(hours=1)  # after its creation, for `firstApply: Allow`
_LONGEST_HOLD = 200  # characters, in words: an annotation may have 256 KiB
_ANNOTATIONS = ("metadata", "annotations")


class Action(StrEnum):
    """What is done to a target, or why it is left as it is, by its word in the log."""

    NONE = "None"
    CLOSED = "Closed"
    OPENED = "Opened"
    ANNOTATED = "Annotated"
    HELD = "Held"  # by the annotation `hold`
    LEFT_TO_PERSON = "LeftToPerson"  # who has suspended it
    LEFT_TO_POLICY = "LeftToPolicy"  # another one, which keeps it closed
    NOT_OPENED = "NotOpened"  # as clocks are apart
    TAKEN_OVER = "TakenOver"  # from a policy that no longer gates it


class Observed(NamedTuple):
    """What an object says that counts here.

    `annotations` are those of gates and holds, by whom they and the suspension were written;
    `conditions` are the reasons of those that hold, by type. `generation` is what the closed-by
    annotation is to note, if that is asked for.
    """

    version: str
    suspended: bool
    suspended_by: Writer
    applied: bool
    created: Any
    annotations: dict[str, str]
    writers: dict[str, Writer]
    conditions: dict[str, str]
    api_version: str
    uid: str
    generation: int | None = None


class Change(NamedTuple):
    """A JSON merge patch (RFC 7386), empty if none is due; what it does, or why there is none.

    `suspend` is what is written into the target's field, None if that is left alone.
    """

    patch: dict[str, object]
    action: Action = Action.NONE
    words: str = ""
    suspend: bool | None = None


def observe(target: Target, live: object) -> Observed:
    """Read the object of `target` as the API server gives it; raise `ValueError` for another one.

    So is a suspension that is neither true nor false: what is not understood is not changed.
    """
    for key, wanted in (("name", target.name), ("namespace", target.namespace)):
        if dig(live, "metadata", key) not in (None, wanted):
            raise ValueError(f"is another object than {target}")
    suspended = dig(live, *target.field)
    if suspended not in (None, True, False):
        raise ValueError(f"has {suspended!r} in {'.'.join(target.field)}")
    every = dig(live, *_ANNOTATIONS) or {}
    ours = {key: every[key] for key in every if key == HOLD or key.startswith((CLOSED_BY, HOOKS))}
    return Observed(
        version=dig(live, "metadata", "resourceVersion"),
        suspended=bool(suspended),
        suspended_by=annotations.writer(live, *target.field),
        applied=any(dig(live, "status", key) for key in target.applied),
        created=dig(live, "metadata", "creationTimestamp"),
        annotations=ours,
        writers={key: annotations.writer(live, *_ANNOTATIONS, key) for key in ours},
        conditions={kind: str(dig(each, "reason")) for kind, each in true_of(live).items()},
        api_version=str(dig(live, "apiVersion")),
        uid=str(dig(live, "metadata", "uid")),
    )


def true_of(live: object) -> dict[str, object]:
    """Give the conditions of an object that are `True`, by type."""
    every = dig(live, "status", "conditions") or ()
    return {str(dig(each, "type")): each for each in every if dig(each, "status") == "True"}


def believed_annotations(observed: Observed, now: datetime) -> list[ClosedBy]:
    """Give what the `closed-by` annotations say that are believed, in the order of their keys."""
    # Who lifted a suspension says nothing of who had set it.
    suspended_by = observed.suspended_by if observed.suspended else Writer.UNKNOWN
    found = []
    for key in _closed_by_keys(observed):
        said = annotations.read(observed.annotations[key])
        if said and annotations.is_believed(key, said, observed.writers[key], suspended_by, now):
            found.append(said)
    return found


def closed_by_others(timetable: Timetable, observed: Observed, now: datetime) -> set[str]:
    """Name the other policies that keep a target closed, by annotations that are believed."""
    closers = {said.policy for said in believed_annotations(observed, now)}
    return closers.difference(timetable.own_names) if observed.suspended else set()


def _closed_by_keys(observed: Observed) -> list[str]:
    return sorted(key for key in observed.annotations if key.startswith(CLOSED_BY))


def due_change(
    timetable: Timetable, target: Target, observed: Observed, decision: Decision, now: datetime
) -> Change:
    """Say what makes `target`, `observed` as it is, what it should be at the instant `now`."""
    # Of a kind that does not say what was applied, none is new.
    is_new = bool(target.applied) and not observed.applied
    may_start = is_new and timetable.first_apply == "Allow" and _is_young(observed, now)
    opens = decision.open or target in timetable.released or may_start
    closers = {said.policy for said in believed_annotations(observed, now)}
    is_ours = not closers.isdisjoint(timetable.own_names)
    others = closed_by_others(timetable, observed, now)
    if observed.suspended:
        # A hold counts before all else, but it closes nothing.
        if opens and HOLD in observed.annotations:
            return _held(observed.annotations[HOLD])
        if opens and others and not is_ours:
            return Change({}, Action.LEFT_TO_POLICY, "left closed by another policy")
        if not closers and not _adopts(timetable, observed, now, is_new=is_new):
            return _left_to_person(timetable, observed)
    wanted = _wanted_annotations(timetable, target, observed, replace(decision, open=opens))
    there = observed.annotations
    changed = {key: text for key, text in wanted.items() if there.get(key) != text}
    suspend = not opens or bool(others)  # another policy opens what it has closed
    # Our annotation on what is not suspended: somebody lifted the suspension alone.
    is_resumed = is_ours and not observed.suspended
    return _change(target, observed, changed, suspend=suspend, is_resumed=is_resumed)


def _is_young(observed: Observed, now: datetime) -> bool:
    """Say whether it was created within the hour; what is yet to be created is not young."""
    try:
        created = annotations.read_instant(observed.created)
        return created is not None and timedelta(0) <= now - created < _FIRST_APPLY
    except annotations.UNREADABLE:
        return False


def _adopts(timetable: Timetable, observed: Observed, now: datetime, *, is_new: bool) -> bool:
    """Say whether a suspension without an annotation counts as ours."""
    # What a hold has suspended is the policy's again as soon as nobody holds it.
    if observed.suspended_by is Writer.HOLD or (is_new and timetable.first_apply == "Wait"):
        return True
    return timetable.adopt_until is not None and now < timetable.adopt_until


def _held(hold: str) -> Change:
    shown = "".join(sign if sign.isprintable() else " " for sign in hold)
    return Change({}, Action.HELD, f"left closed, held: {cut(shown, _LONGEST_HOLD)}")


def _left_to_person(timetable: Timetable, observed: Observed) -> Change:
    words = "left closed by a person"
    if not observed.annotations.keys().isdisjoint(map(annotation, timetable.own_names)):
        words += ", because its closed-by annotation was not written by the gate"
    return Change({}, Action.LEFT_TO_PERSON, words)


def _change(
    target: Target,
    observed: Observed,
    changed: dict[str, str | None],
    *,
    suspend: bool,
    is_resumed: bool,
) -> Change:
    """Write what differs, for the version that was read: else the API server answers 409."""
    if suspend == observed.suspended and not changed:
        return Change({})
    metadata: dict[str, object] = {"resourceVersion": observed.version}
    if changed:
        metadata["annotations"] = changed
    by_person = ": a person had resumed it" if is_resumed else ""
    if suspend == observed.suspended:
        words = f"annotation updated{by_person}"
        return Change({"metadata": metadata}, Action.ANNOTATED, words)
    written: dict[str, object] = {target.field[-1]: suspend}
    for key in reversed(target.field[:-1]):
        written = {key: written}
    patch = {"metadata": metadata, **written}
    if suspend:
        words = f"closed again{by_person}" if is_resumed else "closed"
        return Change(patch, Action.CLOSED, words, suspend)
    return Change(patch, Action.OPENED, "opened", suspend)


def _wanted_annotations(
    timetable: Timetable, target: Target, observed: Observed, decision: Decision
) -> dict[str, str | None]:
    """Give the annotations that it should have; None for those that it should not have."""
    names = timetable.own_names
    wanted: dict[str, str | None] = dict.fromkeys(map(annotation, names))  # none of ours
    if not decision.open and not observed.suspended:
        # On what nobody closes those of other policies are stale: they may be gone.
        wanted |= dict.fromkeys(_closed_by_keys(observed))
    if not decision.open:
        wanted[annotation(names[0])] = _closed_by(names[0], observed, decision)
    if target in timetable.released:  # so that nothing of us is left on it
        wanted |= dict.fromkeys(annotation(name, HOOKS) for name in names)
    return wanted


def _closed_by(policy: str, observed: Observed, decision: Decision) -> str:
    """Write our own annotation, as `annotations.read` reads it."""
    said: dict[str, object] = {
        "policy": policy,
        # All annotations of an object have 256 KiB together, and ours must never be refused.
        "reason": cut(decision.reason),
        "since": decision.since,
        "until": decision.until,
    }
    more = {
        annotations.CAUSE: decision.cause,  # for `status` and the alerts
        # So that later runs open what somebody else has suspended.
        "adopted": observed.suspended and observed.suspended_by is Writer.OTHER,
        annotations.GENERATION: observed.generation,  # for hooks with `onlyIf: Pending`
    }
    said |= {key: value for key, value in more.items() if value}
    return json.dumps(said, default=datetime.isoformat)
