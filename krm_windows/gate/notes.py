"""How far a policy's hooks are: a note on its first target, by which any run goes on.

How a hook's Job ended, the Job itself says, as any run finds it by its name. The note has what that
name is made of, and what is due next. One is written only after that which a run has read: of two
runs that would go different ways, the second finds that it is too late.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from operator import attrgetter
from typing import Any

from krm_windows.gate.annotations import HOOKS, UNREADABLE, Writer, annotation, read_instant
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import parse
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Observed, observe
from krm_windows.gate.timetable import Target

Found = dict[Target, Observed | None]


class Stage(StrEnum):
    """How far a cycle is, which takes the targets through an occurrence of the calendar."""

    OPENING = "Opening"  # the hook before opening is due, its Job named
    MAY_OPEN = "MayOpen"  # targets may be opened, or were found open
    ROLLING_BACK = "RollingBack"  # what was begun is to be taken back
    ABORTED = "Aborted"  # it was
    # What was applied is not well: all is closed, and what the hook did is taken back.
    CLOSING_AFTER_FAILURE = "ClosingAfterFailure"
    FAILED = "Failed"  # it was
    CLOSING = "Closing"  # the hook after closing is due
    CLOSED = "Closed"


class HookName(StrEnum):
    """A hook of a policy: its key in `hooks.json`, and its name in the log."""

    BEFORE_OPEN = "beforeOpen"
    ROLLBACK = "rollback"
    AFTER_APPLY = "afterApply"
    AFTER_APPLY_ROLLBACK = "afterApply.rollback"
    AFTER_CLOSE = "afterClose"


# How a cycle comes to its end, from any stage: which one is next, and the hook that runs before,
# once all targets are closed. Where there is none, the occurrence has to be over.
ENDING: dict[Stage, tuple[Stage, HookName | None]] = {
    Stage.OPENING: (Stage.ROLLING_BACK, None),
    Stage.MAY_OPEN: (Stage.CLOSING, None),
    Stage.ROLLING_BACK: (Stage.ABORTED, HookName.ROLLBACK),
    Stage.ABORTED: (Stage.CLOSED, None),
    Stage.CLOSING_AFTER_FAILURE: (Stage.FAILED, HookName.AFTER_APPLY_ROLLBACK),
    Stage.FAILED: (Stage.CLOSING, None),
    Stage.CLOSING: (Stage.CLOSED, HookName.AFTER_CLOSE),
}
_EARLIER = {"Open": "MayOpen", "Checking": "Closing"}  # stages of a release before 0.1


@dataclass(frozen=True)
class Note:
    """The `stage` of an `occurrence` (its UTC beginning, None: always), in a numbered `cycle`.

    `number` is greater than that of any note before, and the second in which it was written. `job`
    is that of the hook before opening, if it was due, or of the hook that has failed. `skipped`:
    hooks are left out, as nothing had to be applied. `applied` and `changed` are digests of
    revisions: of those that were found well last, and that a hook has failed for.
    """

    occurrence: str | None = None
    cycle: int = 0
    number: int = 0
    stage: Stage = Stage.CLOSED
    job: str = ""
    skipped: bool = False
    applied: str = ""
    changed: str = ""


_KINDS = [type(value) for key, value in asdict(Note()).items() if key != "occurrence"]
_TRIES = 5  # to write it: others write the target, too, Flux its status


def find(gate: Gate, cluster: Cluster) -> Found:
    """Read every target that exists; one that cannot be read is logged, and None."""
    targets = gate.timetable.targets
    cluster.renew(len(targets))
    found: Found = {}
    for target, observed in cluster.each(targets, _observed):
        if not isinstance(observed, str):
            found[target] = observed
        elif observed:
            gate.log(target=str(target), error=observed)
            found[target] = None
    return found


def _observed(cluster: Cluster, target: Target) -> Observed | str:
    """Read a target, or say why it cannot be read: in no words if it does not exist."""
    try:
        return observe(target, cluster.get(target))
    except Exception as error:  # noqa: BLE001 - the next target may be well
        is_missing = isinstance(error, ApiError) and error.status == HTTPStatus.NOT_FOUND
        return "" if is_missing else words_of(error)


def latest(gate: Gate, found: Found) -> Note:
    """Give the latest note of the gate's policy under any of its names; one of none if it has none.

    There is more than one where another target has become the first.
    """
    notes = [Note()]
    for observed in filter(None, found.values()):
        for key in _keys(gate):
            note = _parse(observed.annotations.get(key, ""))
            if note and observed.writers[key] is Writer.GATE:
                notes.append(note)
    return max(notes, key=attrgetter("number"))


def _keys(gate: Gate) -> list[str]:
    return [annotation(name, HOOKS) for name in gate.timetable.own_names]


def next_number(gate: Gate, after: Note) -> int:
    """Give the number of a note that is written now after another one."""
    return max(after.number + 1, int(gate.now().timestamp()))


def write(gate: Gate, cluster: Cluster, found: Found, note: Note, after: Note) -> Note | None:
    """Write a note on the first of the targets that were found, and give it with its number.

    Another run may have written the same. Gives None where it has gone on in another way, or others
    change the target again and again; raises what else it cannot be written for.
    """
    note = replace(note, number=next_number(gate, after))
    target = next(iter(found))
    cluster.renew(1)
    for _ in range(_TRIES):
        observed = observe(target, cluster.get(target))
        there = latest(gate, {target: observed})
        if there.number > after.number:
            return there if replace(there, number=note.number) == note else None
        first, *former = _keys(gate)
        annotations = {key: None for key in former if key in observed.annotations}
        metadata = {
            "resourceVersion": observed.version,
            "annotations": {**annotations, first: json.dumps(asdict(note))},
        }
        try:
            cluster.patch(target, {"metadata": metadata})
        except ApiError as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
        else:
            _remove_others(gate, cluster, found, target)
            return note
    return None


def _remove_others(gate: Gate, cluster: Cluster, found: Found, first: Target) -> None:
    """Remove notes of another target that was the first before: they must never count again."""
    for target, observed in found.items():
        stale = [key for key in _keys(gate) if observed and key in observed.annotations]
        if observed and stale and target != first:
            metadata = {
                "resourceVersion": observed.version,
                "annotations": dict.fromkeys(stale),
            }
            with suppress(ApiError):  # the next note is another try
                cluster.patch(target, {"metadata": metadata})


def _parse(text: str) -> Note | None:
    """Read a note; None for what another version has written, and this one cannot read."""
    try:
        said: Any = parse(text)
        said["stage"] = Stage(_EARLIER.get(said["stage"], said["stage"]))
        said = {**asdict(Note()), "number": said["cycle"], **said}
        note = Note(**{key: said[key] for key in asdict(Note())})
        read_instant(note.occurrence)
    except UNREADABLE:
        return None
    kinds = [type(value) for key, value in asdict(note).items() if key != "occurrence"]
    return note if kinds == _KINDS else None
