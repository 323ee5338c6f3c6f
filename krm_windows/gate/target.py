"""One target: what is read of its object, and what makes it what it should be."""

import json
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from krm_windows.gate import annotations
from krm_windows.gate.annotations import CLOSED_BY, HOLD, ClosedBy, Writer, annotation
from krm_windows.gate.objects import Json, cut, dig
from krm_windows.gate.timetable import Decision, Target, Timetable

_FIRST_APPLY = timedelta(hours=1)  # after its creation, for `firstApply: Allow`
_LONGEST_HOLD = 200  # characters, in words: an annotation may have 256 KiB
_ANNOTATIONS = ("metadata", "annotations")


class Action(StrEnum):
    """What is done to a target, or why it is left, as the log has it."""

    NONE = "None"
    CLOSED = "Closed"
    OPENED = "Opened"
    ANNOTATED = "Annotated"
    HELD = "Held"  # by the annotation `hold`
    LEFT_TO_PERSON = "LeftToPerson"
    LEFT_TO_POLICY = "LeftToPolicy"  # another one, which keeps it closed
    NOT_OPENED = "NotOpened"  # as clocks are apart


class Observed(NamedTuple):
    """What an object says that counts here.

    `annotations` are those of gates and holds, `generation` is for hooks with `onlyIf`. `gone` are
    policies that have closed it and may not patch it any more: this one is their heir (ADR 48).
    """

    version: str
    suspended: bool
    suspended_by: Writer
    applied: bool
    created: Any
    annotations: dict[str, str]
    writers: dict[str, Writer]
    generation: int | None = None
    gone: tuple[str, ...] = ()


class Change(NamedTuple):
    """A JSON merge patch, empty if none is due; what it does, or why there is none."""

    patch: Json
    action: Action = Action.NONE
    words: str = ""


def observe(target: Target, live: object) -> Observed:
    """Read the object of `target`; raise `ValueError` for a suspension that is no boolean."""
    suspended = dig(live, *target.field)
    if suspended not in (None, True, False):
        raise ValueError(f"has {suspended!r} in {'.'.join(target.field)}")
    every = dig(live, *_ANNOTATIONS) or {}
    ours = {key: every[key] for key in every if key == HOLD or key.startswith(CLOSED_BY)}
    return Observed(
        version=dig(live, "metadata", "resourceVersion"),
        suspended=bool(suspended),
        suspended_by=annotations.writer(live, *target.field),
        applied=any(dig(live, "status", key) for key in target.applied),
        created=dig(live, "metadata", "creationTimestamp"),
        annotations=ours,
        writers={key: annotations.writer(live, *_ANNOTATIONS, key) for key in ours},
    )


def believed_annotations(observed: Observed, now: datetime) -> list[ClosedBy]:
    """Give what the `closed-by` annotations say that are believed."""
    # Who lifted a suspension says nothing of who had set it.
    suspended_by = observed.suspended_by if observed.suspended else Writer.UNKNOWN
    found = []
    for key, text in sorted(observed.annotations.items()):
        said = annotations.read(text)
        if said and annotations.is_believed(key, said, observed.writers[key], suspended_by, now):
            found.append(said)
    return found


def closed_by(timetable: Timetable, observed: Observed, now: datetime) -> tuple[bool, set[str]]:
    """Say whether the policy has closed a target, and which others have, by what is believed."""
    closers = {said.policy for said in believed_annotations(observed, now)}
    others = closers.difference(timetable.own_names, observed.gone)
    return closers != others, others if observed.suspended else set()


def due_change(
    timetable: Timetable, target: Target, observed: Observed, decision: Decision, now: datetime
) -> Change:
    """Say what makes a target, as `observed`, what it should be."""
    # Of a kind that does not say what was applied, none is new.
    is_new = bool(target.applied) and not observed.applied
    may_start = is_new and timetable.first_apply == "Allow" and _is_young(observed, now)
    opens = decision.open or target in timetable.released or may_start
    is_ours, others = closed_by(timetable, observed, now)
    if observed.suspended:
        # A hold counts before all else, but it closes nothing.
        if opens and HOLD in observed.annotations:
            words = cut(repr(observed.annotations[HOLD]), _LONGEST_HOLD)
            return Change({}, Action.HELD, f"left closed, held: {words}")
        if opens and others and not is_ours:
            return Change({}, Action.LEFT_TO_POLICY, "left closed by another policy")
        if not (is_ours or others) and not _adopts(timetable, observed, now, is_new=is_new):
            words = "left closed by a person"
            if any(annotation(name) in observed.annotations for name in timetable.own_names):
                words += ": its closed-by annotation does not count"
            return Change({}, Action.LEFT_TO_PERSON, words)
    names = (*timetable.own_names, *observed.gone)
    wanted = _wanted_annotations(names, observed, None if opens else decision)
    there = observed.annotations
    changed = {key: text for key, text in wanted.items() if there.get(key) != text}
    suspend = not opens or bool(others)  # another policy opens what it has closed
    if suspend == observed.suspended and not changed:
        return Change({})
    taken = f": taken over from {', '.join(observed.gone)}" if observed.gone else ""
    by_person = ": a person had resumed it" if is_ours and not observed.suspended else ""
    metadata: Json = {"resourceVersion": observed.version}
    if changed:
        metadata["annotations"] = changed
    if suspend == observed.suspended:
        words = f"annotation updated{by_person}{taken}"
        return Change({"metadata": metadata}, Action.ANNOTATED, words)
    written: Any = suspend
    for key in reversed(target.field):
        written = {key: written}
    words = ("closed again" if by_person else "closed") if suspend else "opened"
    action = Action.CLOSED if suspend else Action.OPENED
    return Change({"metadata": metadata, **written}, action, f"{words}{by_person}{taken}")


def _is_young(observed: Observed, now: datetime) -> bool:
    with suppress(*annotations.UNREADABLE):
        created = annotations.read_instant(observed.created)
        return created is not None and timedelta(0) <= now - created < _FIRST_APPLY
    return False


def _adopts(timetable: Timetable, observed: Observed, now: datetime, *, is_new: bool) -> bool:
    """Say whether a suspension without an annotation is ours."""
    waits = is_new and timetable.first_apply == "Wait"
    adopts = timetable.adopt_until is not None and now < timetable.adopt_until
    # What a hold has suspended is the policy's again as soon as nobody holds it.
    return waits or adopts or observed.suspended_by is Writer.HOLD


def _wanted_annotations(
    names: tuple[str, ...], observed: Observed, closed: Decision | None
) -> dict[str, str | None]:
    wanted: dict[str, str | None] = dict.fromkeys(map(annotation, names))  # none of ours
    if closed and not observed.suspended:
        # On what nobody closes those of other policies are stale: they may be gone.
        wanted |= dict.fromkeys(key for key in observed.annotations if key.startswith(CLOSED_BY))
    if closed:
        wanted[annotation(names[0])] = _closed_by(names[0], observed, closed)
    return wanted


def _closed_by(policy: str, observed: Observed, decision: Decision) -> str:
    said: Json = {
        "policy": policy,
        "reason": cut(decision.reason),  # all annotations of an object have 256 KiB together
        "since": decision.since,
        "until": decision.until,
    }
    more = {
        annotations.CAUSE: decision.cause,  # for `status` and the alerts
        "adopted": observed.suspended and observed.suspended_by is Writer.OTHER,
        annotations.GENERATION: observed.generation,  # for hooks with `onlyIf: Pending`
    }
    said |= {key: value for key, value in more.items() if value}
    return json.dumps(said, default=datetime.isoformat)
