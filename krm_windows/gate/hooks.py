"""Jobs around an occurrence: one before its targets are opened, one after they were closed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from time import monotonic, sleep

from krm_windows.gate.__main__ import Gate
from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import ApiError, Cluster, dig
from krm_windows.gate.notes import Note, Notes
from krm_windows.gate.target import settle
from krm_windows.gate.timetable import Target

_KEPT = timedelta(days=1)  # a Job that ended; one that began before that is never started again
_REFUSED = {400, 401, 403, 404, 413, 422}  # to the same question the API server will say the same again
End = Enum("End", ["WELL", "BAD", "NEVER_BEGAN", "BROKEN_OFF"])


@dataclass(frozen=True)
class Pace:
    """Seconds: the `pause` between two questions, and the `grace` that the Job controller has to end what is late."""

    pause: float = 5
    grace: float = 60


@dataclass(frozen=True)
class Hook:
    """A Job: what its name begins with, the seconds it may take, metadata and spec; and whether its failure aborts."""

    name: str
    seconds: int
    metadata: dict[str, object]
    spec: dict[str, object]
    aborts: bool = False


def look(gate: Gate, cluster: Cluster, *, allow_missing: bool, text: str = "", pace: Pace = Pace()) -> bool:
    """Look as the gate does, with hooks around it: those of the JSON `text`, else of the file beside the timetable."""
    try:
        data = json.loads(text or (Path(__file__).parents[2] / "hooks.json").read_text(encoding="utf-8"))
        hooks = {kind: Hook(**hook) for kind, hook in data["hooks"].items()}
        around = Hooks(gate, cluster, Notes(gate, cluster), data["namespace"], hooks, pace)
    except Exception as error:  # noqa: BLE001 - what cannot be read must not open
        shut = Decision(open=False, rules=(), reason=f"hooks cannot be read: {error!r}", since=None, until=None)
        replace(gate, decides=lambda _: shut).look(cluster, allow_missing=allow_missing)
        return False
    return around.look(allow_missing=allow_missing)


@dataclass(frozen=True)
class Hooks:
    """The hooks of a policy, by their fields' names, around the looks of its gate; their Jobs are in `namespace`."""

    gate: Gate
    cluster: Cluster
    notes: Notes
    namespace: str
    hooks: dict[str, Hook]
    pace: Pace

    def look(self, *, allow_missing: bool) -> bool:
        """Make every target what it should be, again if that changed while a hook ran; say whether all is well."""
        while True:
            began = self._decision()
            trouble = self._before(began) if began.open else ""
            if trouble:
                self.gate.log(left=trouble)
            self.cluster.renew()
            gate = replace(self.gate, decides=partial(self._decides, began, trouble))
            well = gate.look(self.cluster, allow_missing=allow_missing) and not trouble
            if not began.open:
                well &= self._after(self.notes.latest(self.notes.find())).stage in ("Aborted", "Closed")
            if self._lasts(began):
                return well

    def _decision(self) -> Decision:
        return self.gate.decides(self.gate.now())

    def _lasts(self, decision: Decision) -> bool:
        return (now := self._decision()).open == decision.open and now.since == decision.since

    def _decides(self, began: Decision, trouble: str, at: datetime) -> Decision:
        """Decide as the gate does, but open nothing while there is `trouble`, and no other occurrence than `began`."""
        decision = self.gate.decides(at)
        if not decision.open or (began.open and began.since == decision.since and not trouble):
            return decision
        return replace(decision, open=False, reason=trouble or "hooks.beforeOpen is due")

    def _before(self, decision: Decision) -> str:
        """Bring an occurrence to where targets may be opened; say why they may not, nothing if they may."""
        found = self.notes.find()
        note, occurrence = self.notes.latest(found), decision.since.isoformat() if decision.since else None
        if note.stage == "Opening" and note.occurrence != occurrence:
            note = self._after(note)
        stage = note.stage if note.occurrence == occurrence else ""
        if stage == "Passed":
            return ""
        if None in found.values():
            return "hooks: a target cannot be read"
        if stage == "Aborted" and note.job == self._name("beforeOpen", note):
            return self._failed(note)
        if stage == "Opening" and "beforeOpen" in self.hooks:
            return self._open(note, decision)
        return self._first(note, Note(occurrence, note.run + 1, "Open"), found, decision)

    def _first(self, last: Note, note: Note, found: dict[Target, object], decision: Decision) -> str:
        """Begin an occurrence, `last` being the note of what was before; say why targets may not be opened."""
        waiting = any(self._waits(target, thing, decision) for target, thing in found.items())
        if waiting and last.occurrence != note.occurrence:
            last = self._after(last)
        if waiting and "beforeOpen" in self.hooks:
            job, at = self._name("beforeOpen", note), self.gate.now().isoformat()
            return self._open(replace(note, stage="Opening", job=job, at=at), decision)
        if last.occurrence != note.occurrence and last.stage == "Passed":
            note = replace(note, stage="Passed")  # no look saw the close between the two, so nothing was closed
        known = last.occurrence == note.occurrence and last.stage == "Open"
        if not known and (waiting or not all(_is_shut(target, thing) for target, thing in found.items())):
            self.notes.leave(note)
        return ""

    def _waits(self, target: Target, thing: object, decision: Decision) -> bool:
        patch, _ = settle(self.gate.timetable, target, thing, decision, self.gate.now())
        return dig(patch, *target.field) is False

    def _open(self, note: Note, decision: Decision) -> str:
        """Run the hook before opening; say why targets may not be opened, nothing if they may."""
        if not self.notes.leave(note):
            return "hooks: no target takes a note"
        begins = self.gate.now() - datetime.fromisoformat(note.at) < _KEPT
        end = self._run("beforeOpen", note.job, lambda: self._lasts(decision), begins=begins)
        if end is End.BROKEN_OFF:
            return "hooks.beforeOpen did not end before the window did"
        if end is not End.WELL and self.hooks["beforeOpen"].aborts:
            if end is End.BAD:
                self._abort(note)
            return self._failed(note)
        self._reach(note, "Passed")
        return ""

    def _failed(self, note: Note) -> str:
        return f"hooks.beforeOpen failed: Job {self.namespace}/{note.job}"

    def _abort(self, note: Note) -> Note:
        """Take back what was done before opening, once; where that cannot begin, the next look tries again."""
        if "rollback" in self.hooks and self._run("rollback", self._name("rollback", note)) is End.NEVER_BEGAN:
            return note
        return self._reach(note, "Aborted")

    def _after(self, note: Note) -> Note:
        """Bring an occurrence that is over to its end; give the note of where it is then."""
        if note.stage == "Opening":
            if "beforeOpen" in self.hooks:
                self._run("beforeOpen", note.job, begins=False)
            return self._abort(note)
        if note.stage not in ("Open", "Passed"):
            return note
        if "afterClose" in self.hooks:
            self._calm(self.hooks["afterClose"].seconds)
            if self._run("afterClose", self._name("afterClose", note)) is End.NEVER_BEGAN:
                return note
        return self._reach(note, "Closed")

    def _reach(self, note: Note, stage: str) -> Note:
        self.notes.leave(note := replace(note, stage=stage))
        return note

    def _calm(self, seconds: float) -> None:
        """Wait until nothing reconciles, twice in a row as a status may lag behind; but so long at most."""
        end, calm = monotonic() + seconds, 0
        while calm <= 1 and monotonic() < end:
            sleep(self.pace.pause)
            calm = 0 if any(_is_busy(target, thing) for target, thing in self.notes.find().items()) else calm + 1

    def _name(self, kind: str, note: Note) -> str:
        """Name a hook's Job: by policy, hook and occurrence, and by what it does, so that a mended one is another."""
        if kind not in self.hooks:
            return ""
        hook, since = self.hooks[kind], re.sub("[^0-9]", "", note.occurrence or "")[:12] or "always"
        whole = json.dumps([self.gate.timetable.policy, kind, note.occurrence, note.run, hook.metadata, hook.spec])
        return f"{hook.name}-{since}-{sha256(whole.encode()).hexdigest()[:10]}"

    def _run(self, kind: str, name: str, lasts: Callable[[], bool] = lambda: True, *, begins: bool = True) -> End:
        """Start a Job unless it is there, and wait for its end while it `lasts`; log how it ended."""
        hook, path = self.hooks[kind], f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        metadata = {**hook.metadata, "name": name}
        job: dict[str, object] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": hook.spec}
        over, trouble = monotonic() + hook.seconds + self.pace.grace, None
        while trouble is None:
            if not lasts():
                return End.BROKEN_OFF
            self.cluster.renew()
            try:
                if begins:
                    self.cluster.ask("POST", path, job)
                    begins = False
                trouble = _trouble(self.cluster.ask("GET", f"{path}/{name}"))
            except ApiError as error:
                begins = begins and error.status != HTTPStatus.CONFLICT  # which says that it is there
                trouble = str(error) if error.status in _REFUSED else None
            if trouble is None:
                sleep(self.pace.pause)
                trouble = f"no end within {hook.seconds} s" if monotonic() > over else None
        self.gate.log(hook=kind, job=f"{self.namespace}/{name}", trouble=trouble)
        return End.WELL if not trouble else End.NEVER_BEGAN if begins else End.BAD


def _trouble(job: object) -> str | None:
    """Say why a Job failed, nothing if it did not, and None as long as it goes on."""
    ends = {dig(each, "type"): each for each in _conditions(job) if dig(each, "status") == "True"}
    if failed := ends.get("Failed"):
        return f"{dig(failed, 'reason')}: {dig(failed, 'message')}"
    return "" if "Complete" in ends else None


def _is_shut(target: Target, thing: object) -> bool:
    return dig(thing, *target.field) is True


def _is_busy(target: Target, thing: object) -> bool:
    """Whether changes may still come of it; Flux leaves `Reconciling` on what has failed, for a reason of its own."""
    at_work = [each for each in _conditions(thing) if dig(each, "type") == "Reconciling"]
    retries = "ProgressingWithRetry"
    active = any(dig(each, "status") == "True" and dig(each, "reason") != retries for each in at_work)
    return active or not _is_shut(target, thing)


def _conditions(thing: object) -> list[object]:
    found = dig(thing, "status", "conditions")
    return found if isinstance(found, list) else []
