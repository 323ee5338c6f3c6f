"""How far a policy's hooks are: a note on every target, so that any look goes on where another ended.

Stages are `Open` (no hook was due), `Opening` (one is, its Job named), `Aborted`, `Passed` (targets may be opened) and
`Closed`. A note gives way to later ones only, and of those on all targets the latest counts.
"""

import json
from dataclasses import asdict, dataclass
from http import HTTPStatus
from operator import attrgetter

from krm_windows.gate.__main__ import Gate
from krm_windows.gate.kubernetes import ApiError, Cluster, dig
from krm_windows.gate.target import HOOKS, mark
from krm_windows.gate.timetable import Target

_STAGES = ("Open", "Opening", "Aborted", "Passed", "Closed")
_TRIES = 5
Found = dict[Target, object]


@dataclass(frozen=True)
class Note:
    """The `stage` of an `occurrence` (its UTC beginning, None: always), the `run`th; `job` opens it, begun `at`."""

    occurrence: str | None = None
    run: int = 0
    stage: str = "Closed"
    job: str = ""
    at: str = "2000-01-01T00:00:00+00:00"

    @property
    def place(self) -> tuple[int, int]:
        """Greater is later."""
        return self.run, _STAGES.index(self.stage)


@dataclass(frozen=True)
class Notes:
    """The notes of a gate's policy on its targets in a cluster."""

    gate: Gate
    cluster: Cluster

    @property
    def _key(self) -> str:
        return mark(self.gate.timetable.policy, HOOKS)

    def find(self) -> Found:
        """Read every target; one that does not exist is left out, and one that cannot be read is None."""
        self.cluster.renew()
        found: Found = {}
        for target in self.gate.timetable.targets:
            try:
                found[target] = self.cluster.get(target)
            except ApiError as error:
                found |= self._missed(target, error)
        return found

    def _missed(self, target: Target, error: ApiError) -> Found:
        if error.status == HTTPStatus.NOT_FOUND:
            return {}
        self.gate.log(target=str(target), error=str(error))
        return {target: None}

    def latest(self, found: Found) -> Note:
        """Give the latest note of all; one of its own kind if there is none."""
        return max(map(self._read, found.values()), key=attrgetter("place"), default=Note())

    def _read(self, thing: object) -> Note:
        try:
            note = Note(**json.loads(str(dig(thing, "metadata", "annotations", self._key))))
            return note if note.place > Note().place else Note()
        except (TypeError, ValueError):
            return Note()

    def leave(self, note: Note) -> bool:
        """Leave a note on every target that has no later one; say whether any has it or a later one."""
        self.cluster.renew()
        return sum(self._leave_on(target, note) for target in self.gate.timetable.targets) > 0

    def _leave_on(self, target: Target, note: Note) -> bool:
        for _ in range(_TRIES):
            try:
                self._change(target, note)
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    self._missed(target, error)
                    return False
            else:
                return True
        return False

    def _change(self, target: Target, note: Note) -> None:
        thing = self.cluster.get(target)
        if self._read(thing).place < note.place:
            version, notes = dig(thing, "metadata", "resourceVersion"), {self._key: json.dumps(asdict(note))}
            self.cluster.patch(target, {"metadata": {"resourceVersion": version, "annotations": notes}})
