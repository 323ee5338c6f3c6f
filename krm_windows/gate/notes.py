"""How far a policy's hooks are: a note on every target, so that any look goes on where another ended.

A run is `Open` (no hook was due) or `Opening` (one is, its Job named); then `Passed` (targets may be opened), or
`Breaking` (what was begun is taken back) and `Aborted`; at last `Closing` (the hook after it is due) and `Closed`. The
latest note on any target counts. One is left only in place of that which the look has read, and the first target
decides: of two looks that would go different ways, the second finds that it is too late.
"""

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from operator import attrgetter

from krm_windows.gate.__main__ import Gate
from krm_windows.gate.kubernetes import ApiError, Cluster, dig
from krm_windows.gate.target import HOOKS, mark
from krm_windows.gate.timetable import Target

_STAGES = ("Open", "Opening", "Passed", "Breaking", "Aborted", "Closing", "Closed")
_TRIES = 5
_PLACE, _EVER = attrgetter("place"), datetime.min.replace(tzinfo=UTC)
Found = dict[Target, object]


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
    """The notes of a gate's policy, and of its former names, on its targets in a cluster."""

    gate: Gate
    cluster: Cluster

    @property
    def _keys(self) -> list[str]:
        names = (self.gate.timetable.policy, *self.gate.timetable.former_names)
        return [mark(name, HOOKS) for name in names]

    def find(self) -> Found:
        """Read every target; one that does not exist is left out, and one that cannot be read is None."""
        self.cluster.renew()
        found: Found = {}
        for target in self.gate.timetable.targets:
            try:
                found[target] = self.cluster.get(target)
            except ApiError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    self.gate.log(target=str(target), error=str(error))
                    found[target] = None
        return found

    def latest(self, found: Found) -> Note:
        """Give the latest note of all; one of its own kind if there is none."""
        return max(map(self._read, found.values()), key=_PLACE, default=Note())

    def _read(self, thing: object) -> Note:
        texts = (dig(thing, "metadata", "annotations", key) for key in self._keys)
        return max((_parse(text) for text in texts if isinstance(text, str)), key=_PLACE, default=Note())

    def leave(self, note: Note, after: Note) -> bool:
        """Leave a note where none is later than `after`; say whether the first target that exists has it."""
        taken: list[bool | None] = []
        for target, thing in self.find().items():
            taken.append(self._change(target, thing, note, after))
            if not taken[0] or taken[-1] is False:
                return False
        return bool(taken)

    def _change(self, target: Target, thing: object, note: Note, after: Note) -> bool | None:
        """Leave a note on a target; say whether it has it, and not another one. None: that cannot be said."""
        for _ in range(_TRIES):
            try:
                found = self._read(thing := thing or self.cluster.get(target))
                if found == note or found.place > after.place:
                    return replace(found, at=note.at) == note
                old = [key for key in self._keys if dig(thing, "metadata", "annotations", key) is not None]
                notes = {**dict.fromkeys(old), self._keys[0]: json.dumps(asdict(note))}
                version = dig(thing, "metadata", "resourceVersion")
                self.cluster.patch(target, {"metadata": {"resourceVersion": version, "annotations": notes}})
            except ApiError as error:
                thing = None
                if error.status != HTTPStatus.CONFLICT:
                    self.gate.log(target=str(target), error=str(error))
                    break
            else:
                return True
        return None


def _parse(text: str) -> Note:
    """Read a note; what another version has written, and this one cannot read, is none."""
    try:
        note = Note(**json.loads(text))
        sound = all(datetime.fromisoformat(each) > _EVER for each in (note.at, note.occurrence or note.at))
        return note if sound and note.place > Note().place else Note()
    except (TypeError, ValueError):
        return Note()
