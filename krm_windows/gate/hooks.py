"""Jobs around an occurrence: one before its targets are opened, one after they were closed."""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from time import monotonic, sleep

from krm_windows.gate.__main__ import Gate, words_of
from krm_windows.gate.clocks import APART
from krm_windows.gate.decide import Decision
from krm_windows.gate.kubernetes import REFUSED, ApiError, Cluster, dig
from krm_windows.gate.marks import AHEAD, DIGITS
from krm_windows.gate.notes import Found, Note, Notes
from krm_windows.gate.target import Change, Seen, held, settle
from krm_windows.gate.timetable import Target, Timetable

_KEPT = timedelta(days=1)  # a Job that ended; one that began before that is never started again
_OCCURRENCE = re.compile(
    rf"([0-9]{{12}}|always)-[0-9a-f]{{{DIGITS}}}"
)  # how the name of a hook's Job ends
_ROUNDS = 5  # that a look goes on where others, or a server that lies, change what it has found
_FINAL = {
    400,
    401,
    403,
    404,
    413,
    422,
}  # to the same question the API server will say the same again
_AT_REST = (None, "ProgressingWithRetry")  # what has failed stays so while it is suspended
_DUE, _FAILED = "hooks.beforeOpen is due", "hooks.beforeOpen failed: Job {}/{}"
_UNNOTED = "hooks: no target takes a note, or another look has taken it back"
_OF_A_JOB = (
    "Opening",
    "Passed",
    "Breaking",
    "Aborted",
)  # stages that say how far the hook before opening is
End = Enum("End", ["WELL", "BAD", "NEVER_BEGAN", "BROKEN_OFF"])
May = Enum(
    "May", ["OPEN", "KEEP", "SHUT"]
)  # open what waits; leave what is open as it is; close all


@dataclass(frozen=True)
class Leave:
    """What a look may do, and what is wrong, if anything is."""

    may: May
    trouble: str = ""


@dataclass(frozen=True)
class Settling:
    """Settles as the gate does, but closes what may not be open, and opens nothing that no hook has run for."""

    began: Decision
    leave: Leave

    def __call__(
        self, timetable: Timetable, target: Target, seen: Seen, decision: Decision, now: datetime
    ) -> Change:
        """Say what to change, as `settle` does; raise `ApiError` for what would be opened too early."""
        is_another = self.leave.may is May.OPEN and self.began.since != decision.since
        if decision.open and self.began.open and (is_another or self.leave.may is May.SHUT):
            decision = replace(decision, open=False, reason=self.leave.trouble or _DUE)
        change = settle(timetable, target, seen, decision, now)
        opens = decision.open and change.turns(target) is False and target not in timetable.released
        if opens and self.leave.may is not May.OPEN:
            raise ApiError(REFUSED, _DUE)
        return change


@dataclass(frozen=True)
class Hook:
    """A Job: what its name begins with, the seconds it may take, metadata and spec; and whether its failure aborts."""

    name: str
    seconds: int
    metadata: dict[str, object]
    spec: dict[str, object]
    aborts: bool = False


def look(
    gate: Gate, cluster: Cluster, *, allow_missing: bool, text: str = "", **pace: float
) -> bool:
    """Look as the gate does, with hooks around it: those of the JSON `text`, else of the file beside the timetable."""
    try:
        data = json.loads(
            text or (Path(__file__).parents[2] / "hooks.json").read_text(encoding="utf-8")
        )
        hooks = {kind: Hook(**hook) for kind, hook in data["hooks"].items()}
        around = Hooks(gate, cluster, data["namespace"], hooks, **pace)
    except Exception as error:  # noqa: BLE001 - what cannot be read must not open
        shut = Decision(
            open=False, rules=(), reason=f"hooks cannot be read: {error!r}", since=None, until=None
        )
        replace(gate, decides=lambda _: shut).look(cluster, allow_missing=allow_missing)
        return False
    return around.look(allow_missing=allow_missing)


@dataclass(frozen=True)
class Hooks:
    """The hooks of a policy, by their fields' names, around the looks of its gate; their Jobs are in `namespace`."""

    gate: Gate
    cluster: Cluster
    namespace: str
    hooks: dict[str, Hook]
    pause: float = 5  # in seconds, between two questions
    grace: float = 60  # that the Job controller has to end what is late

    @property
    def notes(self) -> Notes:
        """How far they are, by the notes on the targets."""
        return Notes(self.gate, self.cluster, self._names_its_job)

    def look(self, *, allow_missing: bool) -> bool:
        """Make every target what it should be, again if that changed while a hook ran; say whether all is well."""
        for _ in range(_ROUNDS):
            began = self._decision()
            leave = self._leave(began)
            if leave.trouble:
                self.gate.log(left=leave.trouble)
            gate = replace(self.gate, settles=Settling(began, leave))
            well = gate.look(self.cluster, allow_missing=allow_missing) and not leave.trouble
            ended = leave.may is May.SHUT and self._ends(began)
            if self._lasts(began) and not (began.open and ended):
                return well and (began.open or ended)
        return False

    def _decision(self) -> Decision:
        return self.gate.decides(self.gate.now())

    def _lasts(self, decision: Decision) -> bool:
        now = self._decision()
        return now.open == decision.open and now.since == decision.since

    def _leave(self, began: Decision) -> Leave:
        """Say what a look may do. A fault on the way opens nothing, and keeps nothing from being closed."""
        if not began.open:
            return Leave(May.SHUT)
        try:
            for _ in range(_ROUNDS):
                leave = self._before(began)
                if leave is not None:
                    return leave
        except Exception as error:  # noqa: BLE001 - whatever it is
            return Leave(May.KEEP, f"hooks: {words_of(error)}")
        return Leave(May.KEEP, _UNNOTED)

    def _ends(self, began: Decision) -> bool:
        """Say whether what is over has been brought to its end; a fault on the way leaves that to the next look."""
        try:
            return self._after(began)
        except Exception as error:  # noqa: BLE001 - whatever it is
            self.gate.log(left=f"hooks: {words_of(error)}")
            return False

    def _before(self, decision: Decision) -> Leave | None:
        """Bring an occurrence to where targets may be opened, as far as that goes; None if another look was faster."""
        found = self._find()
        note, occurrence = self.notes.latest(found), _occurrence(decision)
        stage = note.stage if note.occurrence == occurrence else ""
        if stage == "Passed":
            return Leave(May.OPEN)
        if None in found.values():
            return Leave(May.KEEP, "hooks: a target cannot be read")
        if stage == "Breaking" or (
            stage == "Aborted" and note.job == self._name("beforeOpen", note)
        ):
            return Leave(May.SHUT, _FAILED.format(self.namespace, note.job))
        if stage == "Opening" and "beforeOpen" in self.hooks:
            return self._open(note, decision)
        waits, is_open = self._turns(found, to_open=True), self._turns(found, to_open=False)
        if self._has_to_end(note, stage, was_closed=waits and not is_open):
            return Leave(May.SHUT, "hooks: what was open before has to be ended first")
        due = self._due(note, waits=waits, is_open=is_open)
        return Leave(May.KEEP) if due in ("", stage) else self._begin(note, due, decision)

    def _find(self) -> Found:
        """Read every target; raise `ApiError` where the answers show that nobody knows what time it is."""
        found = self.notes.find()
        if self.cluster.clocks.are_apart:
            raise ApiError(REFUSED, f"none is begun: {APART}")
        return found

    def _has_to_end(self, note: Note, stage: str, *, was_closed: bool) -> bool:
        """Say whether the hook after closing, or the rollback, is due before anything is opened."""
        if note.stage in ("Breaking", "Closing"):
            return True
        if stage:
            return False
        return note.stage == "Opening" or (was_closed and note.stage in ("Open", "Passed"))

    def _due(self, note: Note, *, waits: bool, is_open: bool) -> str:
        """Say at which stage a run begins, with targets that wait to be opened, and that are open; none, if at none."""
        has_passed = note.stage == "Passed" or "beforeOpen" not in self.hooks
        due = "Passed" if has_passed else "Opening"
        if waits or (is_open and due == note.stage):
            return due
        return "Open" if is_open else ""

    def _begin(self, last: Note, stage: str, decision: Decision) -> Leave | None:
        """Leave the first note of a run: one with a number, and Jobs, of its own, even where notes were lost."""
        run = max(last.run + 1, int(self.gate.now().timestamp()))
        note = Note(_occurrence(decision), run, stage, at=self.gate.now().isoformat())
        if stage == "Opening":
            note = replace(note, job=self._name("beforeOpen", note))
        elif (
            last.stage == stage == "Passed"
        ):  # the run goes on, with another beginning of its occurrence
            note = replace(note, job=last.job)
        if not self.notes.leave(note, last):
            return None if self._is_past(last) else Leave(May.KEEP, _UNNOTED)
        if stage == "Opening":
            return self._open(note, decision)
        return Leave(May.OPEN if stage == "Passed" else May.KEEP)

    def _is_past(self, note: Note) -> bool:
        """Whether another look has gone on from there."""
        return self.notes.latest(self.notes.find()).place > note.place

    def _turns(self, found: Found, *, to_open: bool) -> bool:
        """Whether a look would open any of these, or close any; what cannot be read may be open."""
        decision = replace(self._decision(), open=to_open)
        for target, seen in found.items():
            if seen is None:
                if not to_open:
                    return True
            elif settle(self.gate.timetable, target, seen, decision, self.gate.now()).turns(
                target
            ) is (not to_open):
                return True
        return False

    def _open(self, note: Note, decision: Decision) -> Leave:
        """Run the hook before opening, and note how it ended."""
        begins = self.gate.now() - datetime.fromisoformat(note.at) < _KEPT
        end = self._run("beforeOpen", note.job, lambda: self._lasts(decision), begins=begins)
        if end is End.BROKEN_OFF:
            return Leave(May.KEEP, "hooks.beforeOpen did not end before the window did")
        passed = end is End.WELL or not self.hooks["beforeOpen"].aborts
        later = self._after_run(note, end, passed=passed)
        if not self.notes.leave(later, note):
            return Leave(May.KEEP, _UNNOTED)
        return (
            Leave(May.OPEN) if passed else Leave(May.SHUT, _FAILED.format(self.namespace, note.job))
        )

    def _after_run(self, note: Note, end: End, *, passed: bool) -> Note:
        """Give the note of how the hook before opening ended; one that never began is tried again."""
        if passed:
            return replace(note, stage="Passed")
        if end is End.NEVER_BEGAN:
            return replace(note, at=self.gate.now().isoformat())
        return replace(note, stage="Breaking")

    def _after(self, began: Decision) -> bool:
        """Bring to its end what is over, or take back what failed, while all is closed; say whether it has ended."""
        note = self.notes.latest(self._find())
        if self._is_about_to_begin(note) or not self._lasts(began):
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

    def _is_about_to_begin(self, note: Note) -> bool:
        """Say whether an occurrence begins in a moment, so has begun by the clock of another node."""
        if note.occurrence is None:
            return False
        return timedelta(0) < datetime.fromisoformat(note.occurrence) - self.gate.now() < AHEAD

    def _reach(self, note: Note, stage: str, kind: str = "") -> Note:
        """Note a stage, once its hook has run, if it has one; where that cannot begin, the next look tries again."""
        if kind in self.hooks and self._run(kind, self._name(kind, note)) is End.NEVER_BEGAN:
            return note
        later = replace(note, stage=stage)
        return later if self.notes.leave(later, note) else note

    def _calm(self, seconds: float) -> None:
        """Wait until nothing reconciles, twice in a row as a status may lag behind; but so long at most."""
        end, calm = monotonic() + seconds, 0
        while calm <= 1 and monotonic() < end:
            sleep(self.pause)
            found = self.notes.find()
            reasons = [seen.conditions.get("Reconciling") for seen in found.values() if seen]
            is_busy = any(reason not in _AT_REST for reason in reasons)
            calm = 0 if is_busy or self._turns(found, to_open=False) else calm + 1

    def _name(self, kind: str, note: Note) -> str:
        """Name a hook's Job: by policy, hook and run, what it does and where, so that a mended one is another."""
        if kind not in self.hooks:
            return ""
        hook = self.hooks[kind]
        since = "".join(filter(str.isdigit, note.occurrence or ""))[:12] or "always"
        whole = [
            self.gate.timetable.policy,
            kind,
            note.occurrence,
            note.run,
            self.namespace,
            asdict(hook),
        ]
        return f"{hook.name}-{since}-{sha256(json.dumps(whole).encode()).hexdigest()[:DIGITS]}"

    def _names_its_job(self, note: Note) -> bool:
        """Say whether a note names a Job of the hook before opening, if it is of a stage that comes of one.

        One that is to be run is that of the hook as it is; one that has run may be of a hook that was mended since.
        """
        hook = self.hooks.get("beforeOpen")
        if hook is None or note.stage not in _OF_A_JOB:
            return True
        if note.stage == "Opening":
            return note.job == self._name("beforeOpen", note)
        prefix = f"{hook.name}-"
        return (
            note.job.startswith(prefix)
            and _OCCURRENCE.fullmatch(note.job.removeprefix(prefix)) is not None
        )

    def _run(
        self, kind: str, name: str, lasts: Callable[[], bool] = lambda: True, *, begins: bool = True
    ) -> End:
        """Start a Job unless it is there, and wait for its end while it `lasts`; log how it ended."""
        hook, path = self.hooks[kind], f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        metadata = {**hook.metadata, "name": name}
        job: dict[str, object] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": hook.spec,
        }
        over, trouble = monotonic() + hook.seconds + self.grace, None
        while trouble is None:
            if not lasts():
                return End.BROKEN_OFF
            self.cluster.renew(0)
            try:
                if begins:
                    self.cluster.ask("POST", path, job)
                    begins = False
                trouble = _end_of(self.cluster.ask("GET", f"{path}/{name}"), name)
            except ApiError as error:
                begins = (
                    begins and error.status != HTTPStatus.CONFLICT
                )  # which says that it is there
                final = _FINAL if begins else {HTTPStatus.NOT_FOUND}
                trouble = str(error) if error.status in final else None
            if trouble is None:
                sleep(self.pause)
                trouble = f"no end within {hook.seconds} s" if monotonic() > over else None
        self.gate.log(hook=kind, job=f"{self.namespace}/{name}", trouble=trouble)
        if not trouble:
            return End.WELL
        return End.NEVER_BEGAN if begins else End.BAD


def _occurrence(decision: Decision) -> str | None:
    return decision.since.isoformat() if decision.since else None


def _end_of(job: object, name: str) -> str | None:
    """Say what went wrong with a Job that has ended, nothing if all was well; None of one that has not."""
    if dig(job, "metadata", "name") not in (None, name):
        raise ApiError(REFUSED, f"another Job than {name}")
    conditions = held(job)
    if "Failed" in conditions:
        failed = conditions["Failed"]
        return f"{dig(failed, 'reason')}: {dig(failed, 'message')}"
    return "" if "Complete" in conditions else None
