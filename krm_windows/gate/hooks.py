"""Jobs around an occurrence: one before its targets are opened, one after they were closed."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
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
from krm_windows.gate.notes import Found, Note, Notes
from krm_windows.gate.target import Change, settle
from krm_windows.gate.timetable import Target, Timetable

_KEPT = timedelta(days=1)  # a Job that ended; one that began before that is never started again
_AHEAD = timedelta(minutes=10)  # the clock of another node, at most
_REFUSED = {400, 401, 403, 404, 413, 422}  # to the same question the API server will say the same again
_DUE, _FAILED = "hooks.beforeOpen is due", "hooks.beforeOpen failed: Job {}/{}"
_UNNOTED = "hooks: no target takes a note, or another look has taken it back"
End = Enum("End", ["WELL", "BAD", "NEVER_BEGAN", "BROKEN_OFF"])
May = Enum("May", ["OPEN", "KEEP", "SHUT"])  # open what waits; leave what is open as it is; close all
Leave = tuple[May, str]  # what a look may do, and what is wrong, if anything is
Seen = tuple[object, Decision, datetime]  # an object, what should be, and when


@dataclass(frozen=True)
class Hook:
    """A Job: what its name begins with, the seconds it may take, metadata and spec; and whether its failure aborts."""

    name: str
    seconds: int
    metadata: dict[str, object]
    spec: dict[str, object]
    aborts: bool = False


def look(gate: Gate, cluster: Cluster, *, allow_missing: bool, text: str = "", **pace: float) -> bool:
    """Look as the gate does, with hooks around it: those of the JSON `text`, else of the file beside the timetable."""
    try:
        data = json.loads(text or (Path(__file__).parents[2] / "hooks.json").read_text(encoding="utf-8"))
        hooks = {kind: Hook(**hook) for kind, hook in data["hooks"].items()}
        around = Hooks(gate, cluster, Notes(gate, cluster), data["namespace"], hooks, **pace)
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
    pause: float = 5  # in seconds, between two questions
    grace: float = 60  # that the Job controller has to end what is late

    def look(self, *, allow_missing: bool) -> bool:
        """Make every target what it should be, again if that changed while a hook ran; say whether all is well."""
        while True:
            began = self._decision()
            may, trouble = self._before(began) if began.open else (May.SHUT, "")
            if trouble:
                self.gate.log(left=trouble)
            self.cluster.renew()
            gate = replace(self.gate, settles=partial(self._settles, began, (may, trouble)))
            well = gate.look(self.cluster, allow_missing=allow_missing) and not trouble
            ended = may is May.SHUT and self._after(began)
            if self._lasts(began) and not (began.open and ended):
                return well and (began.open or ended)

    def _decision(self) -> Decision:
        return self.gate.decides(self.gate.now())

    def _lasts(self, decision: Decision) -> bool:
        return (now := self._decision()).open == decision.open and now.since == decision.since

    def _settles(self, began: Decision, leave: Leave, held: Timetable, target: Target, *seen: *Seen) -> Change:
        """Settle as the gate does, but close what may not be open, and open nothing that no hook has run for."""
        (may, trouble), (thing, decision, now) = leave, seen
        is_another = may is May.OPEN and began.since != decision.since
        if decision.open and began.open and (is_another or may is May.SHUT):
            decision = replace(decision, open=False, reason=trouble or _DUE)
        patch, words = settle(held, target, thing, decision, now)
        opens = decision.open and dig(patch, *target.field) is False and target not in held.released
        if opens and may is not May.OPEN:
            raise ApiError(0, _DUE)
        return patch, words

    def _before(self, decision: Decision) -> Leave:
        """Bring an occurrence to where targets may be opened, as far as that goes."""
        found = self.notes.find()
        note, occurrence = self.notes.latest(found), _occurrence(decision)
        stage = note.stage if note.occurrence == occurrence else ""
        if stage == "Passed":
            return May.OPEN, ""
        if None in found.values():
            return May.KEEP, "hooks: a target cannot be read"
        if stage == "Breaking" or (stage == "Aborted" and note.job == self._name("beforeOpen", note)):
            return May.SHUT, _FAILED.format(self.namespace, note.job)
        if stage == "Opening" and "beforeOpen" in self.hooks:
            return self._open(note, decision)
        waits, is_open = self._turns(found, to_open=True), self._turns(found, to_open=False)
        was_closed = waits and not is_open and note.stage in ("Open", "Passed")
        if note.stage in ("Breaking", "Closing") or (not stage and (was_closed or note.stage == "Opening")):
            return May.SHUT, "hooks: what was open before has to be ended first"
        due = "Passed" if note.stage == "Passed" or "beforeOpen" not in self.hooks else "Opening"
        due = due if waits or (is_open and due == note.stage) else "Open" if is_open else ""
        return (May.KEEP, "") if due in ("", stage) else self._begin(note, due, decision)

    def _begin(self, last: Note, stage: str, decision: Decision) -> Leave:
        """Leave the first note of a run: one with a number, and Jobs, of its own, even where notes were lost."""
        run = max(last.run + 1, int(self.gate.now().timestamp()))
        note = Note(_occurrence(decision), run, stage, at=self.gate.now().isoformat())
        if stage == "Opening":
            note = replace(note, job=self._name("beforeOpen", note))
        if not self.notes.leave(note, last):
            return self._before(decision) if self._is_past(last) else (May.KEEP, _UNNOTED)
        return self._open(note, decision) if stage == "Opening" else (May.OPEN if stage == "Passed" else May.KEEP, "")

    def _is_past(self, note: Note) -> bool:
        """Whether another look has gone on from there."""
        return self.notes.latest(self.notes.find()).place > note.place

    def _turns(self, found: Found, *, to_open: bool) -> bool:
        """Whether a look would open any of these, or close any; what cannot be read may be open."""
        held, now, decision = self.gate.timetable, self.gate.now(), replace(self._decision(), open=to_open)
        patches = ((target, settle(held, target, thing, decision, now)[0]) for target, thing in found.items())
        return any(dig(patch, *target.field) is (not to_open) for target, patch in patches)

    def _open(self, note: Note, decision: Decision) -> Leave:
        """Run the hook before opening, and note how it ended."""
        begins = self.gate.now() - datetime.fromisoformat(note.at) < _KEPT
        end = self._run("beforeOpen", note.job, lambda: self._lasts(decision), begins=begins)
        if end is End.BROKEN_OFF:
            return May.KEEP, "hooks.beforeOpen did not end before the window did"
        passed = end is End.WELL or not self.hooks["beforeOpen"].aborts
        stage = "Passed" if passed else "Opening" if end is End.NEVER_BEGAN else "Breaking"
        at = self.gate.now().isoformat() if stage == "Opening" else note.at
        if not self.notes.leave(replace(note, stage=stage, at=at), note):
            return May.KEEP, _UNNOTED
        return (May.OPEN, "") if passed else (May.SHUT, _FAILED.format(self.namespace, note.job))

    def _after(self, began: Decision) -> bool:
        """Bring to its end what is over, or take back what failed, while all is closed; say whether it has ended."""
        note = self.notes.latest(self.notes.find())
        ahead = datetime.fromisoformat(note.occurrence) - self.gate.now() if note.occurrence else timedelta(0)
        if timedelta(0) < ahead < _AHEAD or not self._lasts(began):
            return not began.open  # another look is opening it
        is_over = not began.open or note.occurrence != _occurrence(began)
        if is_over and note.stage in ("Open", "Opening", "Passed"):
            note = self._reach(note, "Breaking" if note.stage == "Opening" else "Closing")
        if note.stage == "Closing" and "afterClose" in self.hooks:
            self._calm(self.hooks["afterClose"].seconds)
        if note.stage in ("Breaking", "Closing") and self._turns(self.notes.find(), to_open=False):
            return False
        if note.stage == "Breaking":
            if "beforeOpen" in self.hooks:
                self._run("beforeOpen", note.job, begins=False)
            note = self._reach(note, "Aborted", "rollback")
        if note.stage == "Closing" or (is_over and note.stage == "Aborted"):
            note = self._reach(note, "Closed", "afterClose" if note.stage == "Closing" else "")
        return note.stage == "Closed" or self._is_past(note)

    def _reach(self, note: Note, stage: str, kind: str = "") -> Note:
        """Note a stage, once its hook has run, if it has one; where that cannot begin, the next look tries again."""
        if kind in self.hooks and self._run(kind, self._name(kind, note)) is End.NEVER_BEGAN:
            return note
        return later if self.notes.leave(later := replace(note, stage=stage), note) else note

    def _calm(self, seconds: float) -> None:
        """Wait until nothing reconciles, twice in a row as a status may lag behind; but so long at most."""
        end, calm = monotonic() + seconds, 0
        while calm <= 1 and monotonic() < end:
            sleep(self.pause)
            found = self.notes.find()
            at_work = [_conditions(thing).get("Reconciling") for thing in found.values()]  # what has failed stays so:
            is_busy = any(each and dig(each, "reason") != "ProgressingWithRetry" for each in at_work)
            calm = 0 if is_busy or self._turns(found, to_open=False) else calm + 1

    def _name(self, kind: str, note: Note) -> str:
        """Name a hook's Job: by policy, hook and run, what it does and where, so that a mended one is another."""
        if kind not in self.hooks:
            return ""
        hook, since = self.hooks[kind], "".join(filter(str.isdigit, note.occurrence or ""))[:12] or "always"
        whole = [self.gate.timetable.policy, kind, note.occurrence, note.run, self.namespace, asdict(hook)]
        return f"{hook.name}-{since}-{sha256(json.dumps(whole).encode()).hexdigest()[:10]}"

    def _run(self, kind: str, name: str, lasts: Callable[[], bool] = lambda: True, *, begins: bool = True) -> End:
        """Start a Job unless it is there, and wait for its end while it `lasts`; log how it ended."""
        hook, path = self.hooks[kind], f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        metadata = {**hook.metadata, "name": name}
        job: dict[str, object] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": hook.spec}
        over, trouble = monotonic() + hook.seconds + self.grace, None
        while trouble is None:
            if not lasts():
                return End.BROKEN_OFF
            self.cluster.renew()
            try:
                if begins:
                    self.cluster.ask("POST", path, job)
                    begins = False
                ends = _conditions(self.cluster.ask("GET", f"{path}/{name}"))
                trouble = "" if "Complete" in ends else None
                if failed := ends.get("Failed"):
                    trouble = f"{dig(failed, 'reason')}: {dig(failed, 'message')}"
            except ApiError as error:
                begins = begins and error.status != HTTPStatus.CONFLICT  # which says that it is there
                trouble = str(error) if error.status in (_REFUSED if begins else {HTTPStatus.NOT_FOUND}) else None
            if trouble is None:
                sleep(self.pause)
                trouble = f"no end within {hook.seconds} s" if monotonic() > over else None
        self.gate.log(hook=kind, job=f"{self.namespace}/{name}", trouble=trouble)
        return End.WELL if not trouble else End.NEVER_BEGAN if begins else End.BAD


def _occurrence(decision: Decision) -> str | None:
    return decision.since.isoformat() if decision.since else None


def _conditions(thing: object) -> dict[object, object]:
    """Give those that hold, by type."""
    found = dig(thing, "status", "conditions")
    held = [each for each in found if dig(each, "status") == "True"] if isinstance(found, list) else []
    return {dig(each, "type"): each for each in held}
