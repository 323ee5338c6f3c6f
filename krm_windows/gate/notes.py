"""How far a policy's hooks are: a note on every target, so that any look goes on where another ended.

A run is `Open` (no hook was due) or `Opening` (one is, its Job named); then `Passed` (targets may be opened), or
`Breaking` (what was begun is taken back) and `Aborted`; at last `Closing` (the hook after it is due) and `Closed`. The
latest note on any target counts. One is left only in place of that which the look has read, and the first target
decides: of two looks that would go different ways, the second finds that it is too late.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http import HTTPStatus
from operator import attrgetter

from krm_windows.gate.__main__ import Gate, words_of
from krm_windows.gate.kubernetes import ApiError, Cluster, parse
from krm_windows.gate.marks import AHEAD, HOOKS, Writer, instant, mark
from krm_windows.gate.target import Seen, observe
from krm_windows.gate.timetable import Target

_STAGES = ("Open", "Opening", "Passed", "Breaking", "Aborted", "Closing", "Closed")
_JOB = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?|")
_TRIES = 5
_PLACE = attrgetter("place")
Found = dict[Target, Seen | None]


@dataclass(frozen=True)
class Note:
    """The `stage` of an `occurrence` (its UTC beginning, None: always), by `run`; `job` opens it, last begun `at`."""

    occurrence: str | None = None
    run: int = 0
    stage: str = "Closed"
    job: str = ""
    at: str = "2000-01-01T00:00:00+00:00"

    @property
    def place(self) -> tuple[int, int, datetime]:
        """Greater is later."""
        return self.run, _STAGES.index(self.stage), datetime.fromisoformat(self.at)


@dataclass(frozen=True)
class Notes:
    """The notes of a gate's policy, and of its former names, on its targets in a cluster.

    `names_its_job` says whether a note names a Job such as the hook before opening has.
    """

    gate: Gate
    cluster: Cluster
    names_its_job: Callable[[Note], bool]

    @property
    def _keys(self) -> list[str]:
        names = (self.gate.timetable.policy, *self.gate.timetable.former_names)
        return [mark(name, HOOKS) for name in names]

    def find(self) -> Found:
        """Read every target; one that does not exist is left out, and one that cannot be read is None."""
        targets = self.gate.timetable.targets
        self.cluster.renew(len(targets))
        found: Found = {}
        for target, (seen, error) in self.cluster.each(targets, _see):
            if isinstance(error, ApiError) and error.status == HTTPStatus.NOT_FOUND:
                continue
            if error:
                self.gate.log(target=str(target), error=words_of(error))
            found[target] = seen
        return found

    def latest(self, found: Found) -> Note:
        """Give the latest note of all; one of its own kind if there is none."""
        return max(
            (self._read(seen) for seen in found.values() if seen), key=_PLACE, default=Note()
        )

    def _read(self, seen: Seen) -> Note:
        notes = [Note()]
        for key in self._keys:
            note = _parse(seen.notes[key]) if key in seen.notes else None
            if note and self._believes(note, seen.writers[key]):
                notes.append(note)
        return max(notes, key=_PLACE)

    def _believes(self, note: Note, by: Writer) -> bool:
        """Say whether the gate wrote a note. Where nobody is recorded as its writer, what it says has to fit.

        It is then of an occurrence that has begun, of a run that can have been, and names a Job of the hook.
        """
        if by is not Writer.UNKNOWN:
            return by is Writer.GATE
        latest = self.gate.now() + AHEAD
        begun = instant(note.occurrence)
        if (begun and begun > latest) or note.run > latest.timestamp():
            return False
        return self.names_its_job(note)

    def leave(self, note: Note, after: Note) -> bool:
        """Leave a note where none is later than `after`; say whether the first target that exists has it."""
        found = self.find()
        self.cluster.renew(len(found))

        def change(cluster: Cluster, target: Target) -> tuple[bool | None, str]:
            return self._change(cluster, target, found[target], note, after)

        first, others = [*found][:1], [*found][1:]
        if not all(self._told(self.cluster.each(first, change))):
            return False
        return bool(found) and False not in self._told(self.cluster.each(others, change))

    def _told(self, changes: Iterable[tuple[Target, tuple[bool | None, str]]]) -> list[bool | None]:
        """Log what went wrong, and give what came of each."""
        found = []
        for target, (has_it, error) in changes:
            if error:
                self.gate.log(target=str(target), error=error)
            found.append(has_it)
        return found

    def _change(
        self, cluster: Cluster, target: Target, seen: Seen | None, note: Note, after: Note
    ) -> tuple[bool | None, str]:
        """Leave a note on a target; say whether it has it, and not another one. None: that cannot be said, and why."""
        for _ in range(_TRIES):
            try:
                if seen is None:
                    seen = cluster.get(target, observe)
                found = self._read(seen)
                if found == note or found.place > after.place:
                    return replace(found, at=note.at) == note, ""
                cluster.patch(target, self._patch(seen, note), observe)
            except Exception as error:  # noqa: BLE001 - as in `_see`
                seen = None
                if not isinstance(error, ApiError) or error.status != HTTPStatus.CONFLICT:
                    return None, words_of(error)
            else:
                return True, ""
        return None, ""

    def _patch(self, seen: Seen, note: Note) -> dict[str, object]:
        """Write a note in place of what stands under all names."""
        notes: dict[str, str | None] = {key: None for key in self._keys if key in seen.notes}
        notes[self._keys[0]] = json.dumps(asdict(note))
        return {"metadata": {"resourceVersion": seen.version, "annotations": notes}}


def _see(cluster: Cluster, target: Target) -> tuple[Seen | None, Exception | None]:
    """Read a target, or say why it cannot be read."""
    try:
        return cluster.get(target, observe), None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one target is not with the next
        return None, error


def _parse(text: str) -> Note | None:
    """Read a note; None for what another version has written, and this one cannot read."""
    try:
        said = parse(text)
        note = Note(**said) if isinstance(said, dict) else None
        return note if note and _is_sound(note) else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def _is_sound(note: Note) -> bool:
    """Say whether every part of a note is what it has to be; raise `TypeError` or `ValueError` for some."""
    values: list[object] = [note.run, note.stage, note.job]
    if list(map(type, values)) != [int, str, str] or note.run <= 0 or note.stage not in _STAGES:
        return False
    began, at = instant(note.occurrence), instant(note.at)
    return (
        at is not None
        and (began is None or began.year > 1)
        and _JOB.fullmatch(note.job) is not None
    )
