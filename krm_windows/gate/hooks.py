"""Jobs around an occurrence: one before its targets are opened, one after they were closed."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from functools import partial
from time import monotonic, sleep
from types import ModuleType

from krm_windows.gate import notes
from krm_windows.gate.annotations import AHEAD, APART, Cause, digest, read_instant
from krm_windows.gate.jobs import Hook, JobEnd, Jobs
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.notes import ENDING, Found, HookName, Note, Stage
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Change, Observed, due_change
from krm_windows.gate.timetable import Decision, Target, Timetable

_KEPT = 24 * 3600  # seconds: a Job that ended; one that is older than that is never started again
_ROUNDS = 5  # that a run goes on where others, or a server that lies, change what it has found
_STEPS = 10  # to the end of a cycle, with some that others have made meanwhile
_CALM = 2  # times in a row that nothing reconciles
_AT_REST = (None, "ProgressingWithRetry")  # what has failed stays so while it is suspended
_DUE = "hooks.beforeOpen is due"
_UNNOTED = "hooks: no target accepts the annotation, or another run has removed it"
_ENDED = (Stage.ABORTED, Stage.CLOSED)
_ENDING = [stage for stage, (_, hook) in ENDING.items() if hook]
# The hook whose failure keeps all closed.
_FAILED = {
    Stage.ROLLING_BACK: HookName.BEFORE_OPEN,
    Stage.ABORTED: HookName.BEFORE_OPEN,
    Stage.CLOSING_AFTER_FAILURE: HookName.AFTER_APPLY,
    Stage.FAILED: HookName.AFTER_APPLY,
}
_CALMS = [HookName.AFTER_APPLY, HookName.AFTER_CLOSE]  # run once nothing reconciles any more


class May(Enum):
    """What a run may do while the window is open."""

    OPEN = "open what waits"
    KEEP = "leave what is open as it is"
    CLOSE = "close all"


class LogAction(StrEnum):
    """What a run does about hooks, as the log has it; the end of a Job is logged by itself."""

    NOT_OPENED = "NotOpened"  # nothing is opened, or all is closed
    SKIPPED = "HooksSkipped"
    WAITING = "Waiting"  # until the targets have reconciled
    LEFT_TO_NEXT_RUN = "LeftToNextRun"


@dataclass(frozen=True)
class Permission:
    """What a run may do, and what is wrong, if anything is: in words, and for programs."""

    may: May
    problem: str = ""
    cause: Cause | None = None


@dataclass(frozen=True)
class Hooks:
    """The hooks of a policy, by their names, around the runs of its gate.

    Their Jobs are in `namespace`. With `pending` they are left out where no target has something to
    apply. `pause` is in seconds, between two questions; `grace` is how many the Job controller has
    to end what is late.
    """

    gate: Gate
    cluster: Cluster
    namespace: str
    hooks: dict[HookName, Hook]
    pending: ModuleType | None = None
    pause: float = 5  # in seconds, between two questions
    grace: float = 60  # that the Job controller has to end what is late

    def run(self, *, allow_missing: bool) -> bool:
        """Make every target what it should be, again if that changed while a hook ran.

        Says whether all is well.
        """
        for _ in range(_ROUNDS):
            began = self._decision()
            permission = self._permission(began)
            well = self._update(began, permission, allow_missing=allow_missing)
            checked = self._checked(began, permission)
            if checked is JobEnd.BAD:
                continue  # another round closes
            ended = permission.may is May.CLOSE and self._ends(began)
            if not self._lasts(began):
                continue  # the calendar has changed meanwhile
            if not began.open:
                return well and ended
            if not ended:
                return well and checked is not JobEnd.NEVER_BEGAN
            # What the window found there has come to its end, so another round may open.
        return False

    def _update(self, began: Decision, permission: Permission, *, allow_missing: bool) -> bool:
        """Make every target what it should be within a permission; say whether all is well."""
        if permission.problem:
            self.gate.log(action=LogAction.NOT_OPENED, message=permission.problem)

        def change_within(
            timetable: Timetable,
            target: Target,
            observed: Observed,
            decision: Decision,
            now: datetime,
        ) -> Change:
            # What another occurrence opens is not what this one's hook has run for.
            is_other = permission.may is May.OPEN and began.since != decision.since
            if decision.open and began.open and (permission.may is May.CLOSE or is_other):
                reason = permission.problem or _DUE
                decision = replace(decision, open=False, reason=reason, cause=permission.cause)
            change = due_change(timetable, target, observed, decision, now)
            # Hooks are for what a window opens.
            waits = decision.open and target not in timetable.released and change.suspend is False
            if waits and permission.may is not May.OPEN:
                raise ApiError(_DUE)
            return change

        gate = replace(self.gate, due_change=change_within)
        if self.pending:
            gate = replace(gate, observe=partial(self.pending.observe, gate.timetable.own_names))
        updated = gate.run(self.cluster, allow_missing=allow_missing)
        return updated and not permission.problem

    def _checked(self, began: Decision, permission: Permission) -> JobEnd:
        """Check what was applied while it is open: these hooks check nothing."""
        del began, permission
        return JobEnd.WELL

    def _decision(self) -> Decision:
        return self.gate.decides(self.gate.now())

    def _lasts(self, decision: Decision) -> bool:
        now = self._decision()
        return now.open == decision.open and now.since == decision.since

    def _find(self) -> tuple[Found, Note]:
        """Read every target, and the note; raise `ApiError` where nobody knows what time it is.

        What another policy has closed and gates no more is taken over, as it waits like the others.
        """
        found = notes.find(self.gate, self.cluster)
        if self.cluster.clocks.are_apart:
            raise ApiError(f"not started: {APART}")
        for target, observed in found.items():
            if observed:
                found[target] = self.gate.take_over(self.cluster, target, observed)
        return found, notes.latest(self.gate, found)

    def _turned(self, found: Found, *, opens: bool) -> list[Target]:
        """List what a run would open, or close; what cannot be read may be among that."""
        timetable, now = self.gate.timetable, self.gate.now()
        decision = replace(self.gate.decides(now), open=opens)
        return [
            target
            for target, observed in found.items()
            if observed is None
            or due_change(timetable, target, observed, decision, now).suspend is (not opens)
        ]

    def _write(self, found: Found, after: Note, note: Note) -> Note | None:
        return notes.write(self.gate, self.cluster, found, note, after)

    # While a window is open: to where targets may be opened.

    def _permission(self, began: Decision) -> Permission:
        """Say what a run may do; a fault on the way opens nothing, and keeps nothing open."""
        if not began.open:
            return Permission(May.CLOSE)
        try:
            for _ in range(_ROUNDS):
                permission = self._before(began)
                if permission:
                    return permission
        except Exception as error:  # noqa: BLE001 - whatever it is
            return Permission(May.KEEP, f"hooks: {words_of(error)}")
        return Permission(May.KEEP, _UNNOTED)

    def _before(self, decision: Decision) -> Permission | None:
        """Bring an occurrence to where targets may be opened, as far as that goes.

        Gives None if another run was faster.
        """
        found, note = self._find()
        is_this = note.occurrence == occurrence(decision)
        if is_this and self._may_open(note):
            return Permission(May.OPEN)
        if None in found.values():  # it may have a later note
            return Permission(May.KEEP, "hooks: a target cannot be read")
        failed = _FAILED.get(note.stage)
        # A hook that was mended since is another one, which has not failed.
        if is_this and failed and note.job == self._job_name(failed, note):
            return self._failed(failed, note)
        if is_this and note.stage is Stage.OPENING and HookName.BEFORE_OPEN in self.hooks:
            return self._open(found, note, decision)
        opened = self._turned(found, opens=False)
        # One whose targets have stayed open goes on, with another beginning of its occurrence.
        goes_on = is_this or (note.stage is Stage.MAY_OPEN and opened)
        if note.stage in _ENDING or not (goes_on or note.stage in _ENDED):
            return Permission(May.CLOSE, "hooks: the previous occurrence must be finished first")
        return self._begin(found, note, decision, is_open=bool(opened))

    def _may_open(self, note: Note) -> bool:
        """Say whether the hook before opening has run, or there is none."""
        has_run = bool(note.job) or HookName.BEFORE_OPEN not in self.hooks
        return note.stage is Stage.MAY_OPEN and not note.skipped and has_run

    def _failed(self, name: HookName, note: Note) -> Permission:
        problem = f"hooks.{name} failed: Job {self.namespace}/{note.job}"
        return Permission(May.CLOSE, problem, Cause.HOOK_FAILED)

    def _begin(
        self, found: Found, last: Note, decision: Decision, *, is_open: bool
    ) -> Permission | None:
        """Begin a cycle if none has begun; it has Jobs of its own, even where notes were lost.

        None is begun where nothing is open, or waits to be opened.
        """
        waiting = self._turned(found, opens=True)
        if not waiting and not is_open:
            return Permission(May.KEEP)
        may_open = self._may_open(last)
        skipped = not may_open and self._is_skipped(last, waiting)
        is_due = bool(waiting) and HookName.BEFORE_OPEN in self.hooks and not (may_open or skipped)
        stage = Stage.OPENING if is_due else Stage.MAY_OPEN
        note = replace(last, occurrence=occurrence(decision), stage=stage, skipped=skipped)
        if note != last:
            note = replace(
                note,
                cycle=notes.next_number(self.gate, last),
                job=last.job if may_open else "",
                applied=self._applied_before(last, decision),
                changed="",
            )
            if is_due:
                note = replace(note, job=self._job_name(HookName.BEFORE_OPEN, note))
            written = self._write(found, last, note)
            if not written:
                return None
            note = written
            if skipped:
                message = "no target has anything to apply"
                self.gate.log(action=LogAction.SKIPPED, message=message)
        if is_due:
            return self._open(found, note, decision)
        return Permission(May.OPEN if waiting else May.KEEP)

    def _is_skipped(self, last: Note, waiting: Sequence[Target]) -> bool:
        """Say whether hooks are left out, as what waits to be opened has nothing to apply."""
        if self.pending is None or not waiting:
            return self.pending is not None and last.stage is Stage.MAY_OPEN and last.skipped
        return not self.pending.any_waits(self.gate, self.cluster, waiting)

    def _applied_before(self, last: Note, decision: Decision) -> str:
        """Give what is applied when a cycle begins: here nobody asks for that."""
        del last, decision
        return ""

    def _open(self, found: Found, note: Note, decision: Decision) -> Permission:
        """Run the hook before opening, note how it ended; one that never began is tried again."""
        begins = self.gate.now().timestamp() - note.number < _KEPT
        lasts = partial(self._lasts, decision)
        end = self._run(HookName.BEFORE_OPEN, note.job, lasts, begins=begins)
        if end is JobEnd.BROKEN_OFF:
            return Permission(May.KEEP, "hooks.beforeOpen did not end before the window did")
        passed = end is JobEnd.WELL or not self.hooks[HookName.BEFORE_OPEN].aborts
        stage = Stage.OPENING if end is JobEnd.NEVER_BEGAN else Stage.ROLLING_BACK
        if not self._write(found, note, replace(note, stage=Stage.MAY_OPEN if passed else stage)):
            return Permission(May.KEEP, _UNNOTED)
        return Permission(May.OPEN) if passed else self._failed(HookName.BEFORE_OPEN, note)

    # While all is closed: to the end of what is over, or has failed.

    def _ends(self, began: Decision) -> bool:
        """Say whether a cycle has come to its end; a fault on the way leaves it to the next run."""
        try:
            found, note = self._find()
            if self._is_about_to_begin(note) or not self._lasts(began):
                return not began.open  # another run is opening it
            cycle = note.cycle
            for _ in range(_STEPS):
                if note.stage is Stage.CLOSED or note.cycle != cycle:
                    return True
                later = self._later(note, began)
                if later is None:
                    return False
                self._write(found, note, later)
                found, note = self._find()
        except Exception as error:  # noqa: BLE001 - whatever it is
            message = f"hooks could not go on: {words_of(error)}"
            self.gate.log(action=LogAction.LEFT_TO_NEXT_RUN, message=message)
        return False

    def _is_about_to_begin(self, note: Note) -> bool:
        """Say whether an occurrence begins in a moment: by another node's clock it has begun."""
        now = self.gate.now()
        return timedelta(0) < (read_instant(note.occurrence) or now) - now < AHEAD

    def _later(self, note: Note, began: Decision) -> Note | None:
        """Run the hook that is due, if one is, and say what is next; None if that has to wait."""
        later, name = ENDING[note.stage]
        if name is None:
            is_over = not began.open or note.occurrence != occurrence(began)
            return replace(note, stage=later) if is_over else None
        if note.stage is Stage.CLOSING:
            self._calm(note)
        if self._turned(notes.find(self.gate, self.cluster), opens=False):
            return None
        if note.stage is Stage.ROLLING_BACK and HookName.BEFORE_OPEN in self.hooks:
            self._run(HookName.BEFORE_OPEN, note.job, begins=False)  # it may not have ended yet
        return self._follow(name, replace(note, stage=later), note)

    def _follow(self, name: HookName, later: Note, note: Note) -> Note | None:
        """Run a hook; where it cannot begin, the next run tries again."""
        is_skipped = note.skipped and name is HookName.AFTER_CLOSE
        if is_skipped or name not in self.hooks:
            return later
        end = self._run(name, self._job_name(name, note))
        return None if end is JobEnd.NEVER_BEGAN else later

    def _calm(self, note: Note) -> None:
        """Wait until nothing reconciles, but for as long as the hooks that wait for it at most.

        It has to be found twice in a row, as a status may lag.
        """
        names = _CALMS[:1] if note.skipped else _CALMS
        seconds = [self.hooks[name].seconds for name in names if name in self.hooks]
        end = monotonic() + max(seconds, default=0)
        calm = 0
        while calm < _CALM and monotonic() < end:
            sleep(self.pause)
            found = notes.find(self.gate, self.cluster)
            is_calm = not _any_reconciles(found) and not self._turned(found, opens=False)
            calm = calm + 1 if is_calm else 0

    # Jobs.

    def _job_name(self, name: HookName, note: Note) -> str:
        """Name a hook's Job by policy, hook and cycle, what it does and where.

        So a hook that was mended has another Job.
        """
        hook = self.hooks.get(name)
        if hook is None:
            return ""
        # 2026-11-20T08:00:00+00:00, to the minute
        since = re.sub("[^0-9]", "", note.occurrence or "")[:12] or "always"
        policy = self.gate.timetable.policy
        # A check is of one set of revisions, which have `changed`.
        cycle = [note.occurrence, note.cycle, note.changed]
        whole = [policy, name, cycle, self.namespace, asdict(hook)]
        return f"{hook.name}-{since}-{digest(json.dumps(whole))}"

    def _run(
        self,
        name: HookName,
        job_name: str,
        lasts: Callable[[], bool] = lambda: True,
        *,
        begins: bool = True,
    ) -> JobEnd:
        """Run a hook's Job, which is created unless it is there; wait for its end while it `lasts`.

        Logs how it ended.
        """
        jobs = Jobs(self.cluster, self.namespace, self.pause, self.grace)
        end, failure = jobs.run(job_name, self.hooks[name], lasts, begins=begins)
        if end is not JobEnd.BROKEN_OFF:
            self.gate.log(hook=name, job=f"{self.namespace}/{job_name}", failure=failure)
        return end


def run(
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
    text: str = "",
    kind: Callable[..., Hooks] = Hooks,
    **pace: float,
) -> bool:
    """Run as the gate does, with hooks around it.

    They are those of the JSON `text`, else of the file beside the timetable. `kind` is the class
    that runs them, and `pace` its fields `pause` and `grace`, in seconds.
    """
    try:
        data = json.loads(text or (gate.files / "hooks.json").read_text(encoding="utf-8"))
        # One of an unknown name would never run, so nothing is opened without it.
        hooks = {HookName(name): Hook(**hook) for name, hook in data["hooks"].items()}
        around = kind(gate, cluster, data["namespace"], hooks, **pace)
    except Exception as error:  # noqa: BLE001 - what cannot be read must not open
        decision = Decision(open=False, reason=f"hooks cannot be read: {error!r}")
        closed = replace(gate, decides=lambda _: decision)
        closed.run(cluster, allow_missing=allow_missing)
        return False
    return around.run(allow_missing=allow_missing)


def _any_reconciles(found: Found) -> bool:
    """Say whether a controller is at work on any of these, as kstatus has it by `Reconciling`."""
    reasons = [observed.conditions.get("Reconciling") for observed in found.values() if observed]
    return any(reason not in _AT_REST for reason in reasons)


def occurrence(decision: Decision) -> str | None:
    """Name the occurrence of the calendar in which a decision was made: by its beginning."""
    return decision.since.isoformat() if decision.since else None
