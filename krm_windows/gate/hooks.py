"""Jobs around an occurrence: one before its targets are opened, one after they were closed."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from functools import partial
from time import monotonic, sleep
from typing import ClassVar, Protocol

from krm_windows.gate.annotations import AHEAD, APART, DIGITS, Cause, digest
from krm_windows.gate.jobs import Hook, Job, JobEnd
from krm_windows.gate.kubernetes import REFUSED, ApiError, Cluster
from krm_windows.gate.notes import (
    ENDING,
    UNENDED,
    Found,
    HookName,
    Note,
    Notes,
    Stage,
    Transition,
    When,
)
from krm_windows.gate.run import FILES, Gate, closed_by_fault, words_of
from krm_windows.gate.target import Change, Observed, due_change
from krm_windows.gate.timetable import Decision, Target, Timetable

KEPT = timedelta(days=1)  # a Job that ended; one that began before that is never started again
# How the name of a hook's Job ends: an opening, and the digest of the hook.
_RUN_OF_JOB = re.compile(rf"-([0-9]{{12}}|always)-[0-9a-f]{{{DIGITS}}}")
_ROUNDS = 5  # that a run goes on where others, or a server that lies, change what it has found
_CALM = 2  # times in a row that nothing reconciles
_AT_REST = (None, "ProgressingWithRetry")  # what has failed stays so while it is suspended
_DUE = "hooks.beforeOpen is due"
_UNNOTED = "hooks: no target accepts the annotation, or another run has removed it"
_FAILURES = (Stage.CLOSING_AFTER_FAILURE, Stage.FAILED)  # of the hook that checks
# These say how far the hook before opening is.
_OF_A_JOB = (Stage.OPENING, Stage.MAY_OPEN, Stage.ROLLING_BACK, Stage.ABORTED)
# They are about one set of revisions each, and run in an occurrence without hooks, too.
_OF_CHANGES = (HookName.AFTER_APPLY, HookName.AFTER_APPLY_ROLLBACK)


class Pending(Protocol):
    """What tells whether targets have something to apply: the part `pending`."""

    def observe(self, names: Sequence[str], target: Target, live: object) -> Observed:
        """Read a target, with what the closed-by annotation of a policy, by its names, notes."""

    def reasons(
        self,
        names: Sequence[str],
        cluster: Cluster,
        targets: Sequence[Target],
    ) -> Iterator[tuple[Target, str]]:
        """Yield for each target why it may have something to apply, else no words."""


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
class WithinPermission:
    """Says what is due as the gate does, within a permission.

    It closes what may not be open, and opens nothing that no hook has run for.
    """

    began: Decision
    permission: Permission

    def __call__(
        self,
        timetable: Timetable,
        target: Target,
        observed: Observed,
        decision: Decision,
        now: datetime,
    ) -> Change:
        """Say what to change, as `due_change` does; raise `ApiError` for what opens too early."""
        if self._shuts(decision):
            reason = self.permission.problem or _DUE
            cause = self.permission.cause
            decision = replace(decision, open=False, reason=reason, cause=cause)
        change = due_change(timetable, target, observed, decision, now)
        if not decision.open or target in timetable.released:
            return change  # hooks are for what a window opens
        if change.suspend is False and self.permission.may is not May.OPEN:
            raise ApiError(REFUSED, _DUE)
        return change

    def _shuts(self, decision: Decision) -> bool:
        """Say whether what the calendar opens is closed: by its hook, or as that was another's."""
        if not decision.open or not self.began.open:
            return False
        if self.permission.may is May.CLOSE:
            return True
        return self.permission.may is May.OPEN and self.began.since != decision.since


def run(
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
    text: str = "",
    kind: "Callable[..., Hooks] | None" = None,
    **pace: float,
) -> bool:
    """Run as the gate does, with hooks around it.

    They are those of the JSON `text`, else of the file beside the timetable. `kind` is the class
    that runs them, and `pace` its fields `pause` and `grace`, in seconds.
    """
    try:
        data = json.loads(text or (FILES / "hooks.json").read_text(encoding="utf-8"))
        # One of an unknown name would never run, so nothing is opened without it.
        hooks = {HookName(name): Hook(**hook) for name, hook in data["hooks"].items()}
        make: Callable[..., Hooks] = kind or Hooks
        around = make(gate, cluster, data["namespace"], hooks, **pace)
    except Exception as error:  # noqa: BLE001 - what cannot be read must not open
        decision = closed_by_fault(f"hooks cannot be read: {error!r}")
        closed = replace(gate, decides=lambda _: decision)
        closed.run(cluster, allow_missing=allow_missing)
        return False
    return around.run(allow_missing=allow_missing)


@dataclass(frozen=True)
class Hooks:
    """The hooks of a policy, by their names, around the runs of its gate.

    Their Jobs are in `namespace`. With `pending` they are left out where no target has something to
    apply. `pause` is in seconds, between two questions; `grace` is how many the Job controller has
    to end what is late. `ending` says how a cycle comes to its end, from any stage.
    """

    ending: ClassVar[dict[Stage, Transition]] = ENDING

    gate: Gate
    cluster: Cluster
    namespace: str
    hooks: dict[HookName, Hook]
    pending: Pending | None = None
    pause: float = 5  # in seconds, between two questions
    grace: float = 60  # that the Job controller has to end what is late

    @property
    def notes(self) -> Notes:
        """The notes on the targets, which say how far the hooks are."""
        return Notes(self.gate, self.cluster, self._names_its_job)

    def _log(self, action: LogAction, message: str) -> None:
        """Log what is done about the hooks, and why, in the words of `message`."""
        self.gate.log(action=action, message=message)

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
            ended = False
            if permission.may is May.CLOSE:
                ended = self._ends(began)
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
            self._log(LogAction.NOT_OPENED, permission.problem)
        gate = replace(self.gate, due_change=WithinPermission(began, permission))
        if self.pending:
            names = gate.timetable.own_names
            gate = replace(gate, observe=partial(self.pending.observe, names))
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

    def _permission(self, began: Decision) -> Permission:
        """Say what a run may do.

        A fault on the way opens nothing, and keeps nothing open.
        """
        if not began.open:
            return Permission(May.CLOSE)
        try:
            for _ in range(_ROUNDS):
                permission = self._before(began)
                if permission is not None:
                    return permission
        except Exception as error:  # noqa: BLE001 - whatever it is
            return Permission(May.KEEP, f"hooks: {words_of(error)}")
        return Permission(May.KEEP, _UNNOTED)

    # While a window is open: to where targets may be opened.

    def _before(self, decision: Decision) -> Permission | None:
        """Bring an occurrence to where targets may be opened, as far as that goes.

        Gives None if another run was faster.
        """
        found = self._find()
        note = self.notes.latest(found)
        is_this = note.occurrence == occurrence(decision)
        if is_this and note.stage is Stage.MAY_OPEN and not note.skipped:
            return Permission(May.OPEN)
        # It may have a later note.
        if None in found.values():
            return Permission(May.KEEP, "hooks: a target cannot be read")
        if is_this and self._has_failed(note):
            return self._failed(note)
        if is_this and note.stage is Stage.OPENING and HookName.BEFORE_OPEN in self.hooks:
            return self._open(note, decision)
        return self._begin_if_due(found, note, decision, is_this=is_this)

    def _find(self) -> Found:
        """Read every target; raise `ApiError` where nobody knows what time it is.

        What another policy has closed and gates no more is taken over, as it waits like the others.
        """
        found = self.notes.find()
        if self.cluster.clocks.are_apart:
            raise ApiError(REFUSED, f"not started: {APART}")
        for target, observed in found.items():
            if observed:
                found[target] = self.gate.take_over(self.cluster, target, observed)
        return found

    def _has_failed(self, note: Note) -> bool:
        """Say whether a hook has failed that keeps all closed.

        A hook that was mended since is another one, which has not failed.
        """
        if note.stage is Stage.ABORTED:
            return note.job == self._job_name(HookName.BEFORE_OPEN, note)
        if note.stage in _FAILURES:
            return note.check == self._job_name(HookName.AFTER_APPLY, note)
        return note.stage is Stage.ROLLING_BACK

    def _failed(self, note: Note) -> Permission:
        name, job = HookName.BEFORE_OPEN, note.job
        if note.stage in _FAILURES:
            name, job = HookName.AFTER_APPLY, note.check
        problem = f"hooks.{name} failed: Job {self.namespace}/{job}"
        return Permission(May.CLOSE, problem, Cause.HOOK_FAILED)

    def _begin_if_due(
        self,
        found: Found,
        last: Note,
        decision: Decision,
        *,
        is_this: bool,
    ) -> Permission | None:
        """Begin a cycle if one is due, and nothing has to be ended before."""
        waiting = self._waiting(found)
        is_open = self._any_closes(found)
        was_closed = bool(waiting) and not is_open
        if self._has_to_end(last, is_this=is_this, was_closed=was_closed):
            return Permission(May.CLOSE, "hooks: the previous occurrence must be finished first")
        skipped = self._is_skipped(last, waiting)
        due = self._due(last, waits=bool(waiting), is_open=is_open, skipped=skipped)
        if due is None:
            return Permission(May.KEEP)
        if is_this and due is last.stage and skipped is last.skipped:  # it has begun
            if waiting and due is Stage.MAY_OPEN:
                return Permission(May.OPEN)
            return Permission(May.KEEP)
        return self._begin(last, due, decision, skipped=skipped)

    def _waiting(self, found: Found) -> list[Target]:
        """Give those of the targets that a run would open."""
        decision = replace(self._decision(), open=True)
        waiting = []
        for target, observed in found.items():
            if observed and self._suspends(target, observed, decision) is False:
                waiting.append(target)
        return waiting

    def _is_skipped(self, last: Note, waiting: Sequence[Target]) -> bool:
        """Say whether hooks are left out, as what waits to be opened has nothing to apply."""
        may_open = last.stage is Stage.MAY_OPEN
        if self.pending is None or (may_open and not last.skipped):
            return False
        if not waiting:
            return may_open
        found = False
        names = self.gate.timetable.own_names
        for target, reason in self.pending.reasons(names, self.cluster, waiting):
            if reason:
                self.gate.log(target=str(target), pending=reason)
                found = True
        return not found

    def _any_closes(self, found: Found) -> bool:
        """Say whether a run would close any of these; what cannot be read may be open."""
        decision = replace(self._decision(), open=False)
        for target, observed in found.items():
            if observed is None or self._suspends(target, observed, decision):
                return True
        return False

    def _suspends(self, target: Target, observed: Observed, decision: Decision) -> bool | None:
        """Say what would be written into a target's field; None if nothing would be."""
        change = due_change(self.gate.timetable, target, observed, decision, self.gate.now())
        return change.suspend

    def _has_to_end(
        self,
        note: Note,
        *,
        is_this: bool,
        was_closed: bool,
    ) -> bool:
        """Say whether the hook after closing, or the rollback, is due before anything is opened."""
        if note.stage in UNENDED:
            return True
        if is_this:
            return False
        # Of an occurrence before: its hook may have begun something.
        if note.stage in (Stage.OPENING, Stage.FAILED):
            return True
        return was_closed and note.stage in (Stage.OPEN, Stage.MAY_OPEN)

    def _due(
        self,
        last: Note,
        *,
        waits: bool,
        is_open: bool,
        skipped: bool,
    ) -> Stage | None:
        """Say at which stage a cycle begins, if at any.

        `waits`: some targets wait to be opened; `is_open`: some are open; `skipped`: without hooks.
        """
        due = Stage.OPENING
        has_run = last.stage is Stage.MAY_OPEN and not last.skipped
        if has_run or skipped or HookName.BEFORE_OPEN not in self.hooks:
            due = Stage.MAY_OPEN  # there is no hook that is yet to run
        if waits or (is_open and due is last.stage):
            return due
        if is_open:
            return Stage.OPEN
        return None

    def _begin(
        self,
        last: Note,
        stage: Stage,
        decision: Decision,
        *,
        skipped: bool,
    ) -> Permission | None:
        """Write the first note of a cycle.

        It has a number, and Jobs, of its own, even where notes were lost.
        """
        now = self.gate.now()
        cycle = max(last.cycle + 1, int(now.timestamp()))
        note = Note(occurrence(decision), cycle, stage, at=now.isoformat(), skipped=skipped)
        if stage is Stage.OPENING:
            note = replace(note, job=self._job_name(HookName.BEFORE_OPEN, note))
        elif stage is Stage.MAY_OPEN and last.stage is Stage.MAY_OPEN:
            # The last one goes on, with another beginning of its occurrence.
            note = replace(note, job=last.job)
        note = self._begun(note, last)
        if not self.notes.write(note, last):
            if self._is_past(last):
                return None
            return Permission(May.KEEP, _UNNOTED)
        if stage is Stage.OPENING:
            return self._open(note, decision)
        if stage is Stage.MAY_OPEN:
            if skipped:
                self._log(LogAction.SKIPPED, "no target has anything to apply")
            return Permission(May.OPEN)
        return Permission(May.KEEP)

    def _begun(self, note: Note, last: Note) -> Note:
        """Add to the first note of a cycle what is known when it begins: here nothing."""
        del last
        return note

    def _is_past(self, note: Note) -> bool:
        """Say whether another run has gone on from there."""
        latest = self.notes.latest(self.notes.find())
        return latest.progress > note.progress

    def _open(self, note: Note, decision: Decision) -> Permission:
        """Run the hook before opening, and note how it ended."""

        def lasts() -> bool:
            return self._lasts(decision)

        age = self.gate.now() - datetime.fromisoformat(note.at)
        end = self._run(HookName.BEFORE_OPEN, note.job, lasts, begins=age < KEPT)
        if end is JobEnd.BROKEN_OFF:
            return Permission(May.KEEP, "hooks.beforeOpen did not end before the window did")
        passed = end is JobEnd.WELL or not self.hooks[HookName.BEFORE_OPEN].aborts
        if not self.notes.write(self._after_hook(note, end, passed=passed), note):
            return Permission(May.KEEP, _UNNOTED)
        if passed:
            return Permission(May.OPEN)
        return self._failed(note)

    def _after_hook(
        self,
        note: Note,
        end: JobEnd,
        *,
        passed: bool,
    ) -> Note:
        """Give the note of how the hook before opening ended.

        A hook that never began is tried again.
        """
        if passed:
            return replace(note, stage=Stage.MAY_OPEN)
        if end is JobEnd.NEVER_BEGAN:
            return replace(note, at=self.gate.now().isoformat())
        return replace(note, stage=Stage.ROLLING_BACK)

    # While all is closed: to the end of what is over, or has failed.

    def _ends(self, began: Decision) -> bool:
        """Say whether a cycle has come to its end; a fault on the way leaves it to the next run."""
        try:
            return self._follow_table(began)
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._log(LogAction.LEFT_TO_NEXT_RUN, f"hooks could not go on: {words_of(error)}")
            return False

    def _follow_table(self, began: Decision) -> bool:
        """Follow the table `ending` as far as that goes; say whether that is the end."""
        note = self.notes.latest(self._find())
        if self._is_about_to_begin(note) or not self._lasts(began):
            return not began.open  # another run is opening it
        is_over = _is_over(note, began)
        while note.stage in self.ending:
            transition = self.ending[note.stage]
            if transition.when is When.OVER and not is_over:
                break
            if transition.when is When.ALL_CLOSED and not self._all_closed(note, transition):
                return False
            later = self._follow(note, transition)
            if later is note:
                break
            note = later
        return note.stage is Stage.CLOSED or self._is_past(note)

    def _is_about_to_begin(self, note: Note) -> bool:
        """Say whether an occurrence begins in a moment: by another node's clock it has begun."""
        if note.occurrence is None:
            return False
        left = datetime.fromisoformat(note.occurrence) - self.gate.now()
        return timedelta(0) < left < AHEAD

    def _all_closed(self, note: Note, transition: Transition) -> bool:
        """Say whether a run would close no target, once nothing reconciles if the hook wants it."""
        name = self._hook_before(transition, note)
        if name is not None and transition.calms:
            self._calm(self.hooks[name].seconds)
        return not self._any_closes(self.notes.find())

    def _calm(self, seconds: float) -> None:
        """Wait until nothing reconciles, but for `seconds` at most.

        It has to be found twice in a row, as a status may lag.
        """
        end = monotonic() + seconds
        calm = 0
        while calm < _CALM and monotonic() < end:
            sleep(self.pause)
            calm += 1
            found = self.notes.find()
            if _any_reconciles(found) or self._any_closes(found):
                calm = 0

    def _follow(self, note: Note, transition: Transition) -> Note:
        """Note the next stage, once its hook has run, if it has one.

        Where the hook cannot begin, the note stays, and the next run tries again.
        """
        if transition.finishes in self.hooks:
            self._run(transition.finishes, note.job, begins=False)
        name = self._hook_before(transition, note)
        if name is not None:
            end = self._run(name, self._job_name(name, note))
            if end is JobEnd.NEVER_BEGAN:
                return note
        later = replace(note, stage=transition.to)
        if self.notes.write(later, note):
            return later
        return note

    def _hook_before(self, transition: Transition, note: Note) -> HookName | None:
        """Name the hook that runs before a transition; None if policy or cycle are without it."""
        name = transition.hook
        if name not in self.hooks:
            return None
        if note.skipped and name not in _OF_CHANGES:
            return None
        return name

    # Jobs.

    def _job_name(self, name: HookName, note: Note) -> str:
        """Name a hook's Job by policy, hook and cycle, what it does and where.

        So a hook that was mended has another Job.
        """
        if name not in self.hooks:
            return ""
        hook = self.hooks[name]
        since = "always"
        if note.occurrence:  # 2026-11-20T08:00:00+00:00, to the minute
            since = re.sub("[^0-9]", "", note.occurrence)[:12]
        policy = self.gate.timetable.policy
        whole = [policy, name, note.occurrence, note.cycle, self.namespace, asdict(hook)]
        if name in _OF_CHANGES:
            whole.append(note.changed)
        return f"{hook.name}-{since}-{digest(json.dumps(whole))}"

    def _names_its_job(self, note: Note) -> bool:
        """Say whether a note names a Job of the hook before opening, if it is of a stage with one.

        A Job that is yet to run is that of the hook as it is. One that has run may be of a hook
        that was mended since.
        """
        hook = self.hooks.get(HookName.BEFORE_OPEN)
        if hook is None or note.stage not in _OF_A_JOB:
            return True  # it need not name any
        if note.skipped:
            return self.pending is not None
        if note.stage is Stage.OPENING:
            return note.job == self._job_name(HookName.BEFORE_OPEN, note)
        if not note.job.startswith(hook.name):
            return False
        return _RUN_OF_JOB.fullmatch(note.job, len(hook.name)) is not None

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
        hook = self.hooks[name]
        job = Job(self.cluster, self.namespace, job_name, hook, begins)
        failure = job.wait(lasts, pause=self.pause, grace=self.grace)
        if failure is None:
            return JobEnd.BROKEN_OFF
        self.gate.log(hook=name, job=f"{self.namespace}/{job_name}", failure=failure)
        if not failure:
            return JobEnd.WELL
        self.gate.warns(f"hooks.{name} failed: Job {self.namespace}/{job_name}: {failure}")
        if job.begins:
            return JobEnd.NEVER_BEGAN
        return JobEnd.BAD


def _any_reconciles(found: Found) -> bool:
    """Say whether a controller is at work on any of these, as kstatus has it by `Reconciling`."""
    reasons = [observed.conditions.get("Reconciling") for observed in found.values() if observed]
    return any(reason not in _AT_REST for reason in reasons)


def _is_over(note: Note, decision: Decision) -> bool:
    """Say whether the occurrence of a note is: all is closed, or another one has begun."""
    return not decision.open or note.occurrence != occurrence(decision)


def occurrence(decision: Decision) -> str | None:
    """Name the occurrence of the calendar in which a decision was made: by its beginning."""
    if decision.since is None:
        return None
    return decision.since.isoformat()
