"""Jobs around an occurrence: one before its targets are opened, one after they were closed.

A run makes every target what the note allows, does what is due next, notes that, and begins again,
until nothing is due. Nothing is opened unless the note says `MayOpen` for this occurrence.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from functools import partial
from http import HTTPStatus
from time import monotonic, sleep
from types import ModuleType
from typing import NamedTuple

from krm_windows.gate import notes
from krm_windows.gate.annotations import AHEAD, APART, Cause, digest, read_instant
from krm_windows.gate.jobs import Hook, JobEnd, Jobs, true_of
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.notes import ENDING, HookName, Note, Stage
from krm_windows.gate.objects import Json, dig
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Action, Change, Observed, due_change
from krm_windows.gate.timetable import Decision, Target, Timetable

_ROUNDS = 10  # to the end of one cycle and into the next, with some that others have made meanwhile
_CALM = 2  # times in a row that nothing reconciles
_AT_REST = (None, "ProgressingWithRetry")  # what has failed stays so while it is suspended
_DUE = "hooks.beforeOpen is due"
# The hook whose failure keeps all closed.
_FAILED = {
    Stage.ROLLING_BACK: HookName.BEFORE_OPEN,
    Stage.ABORTED: HookName.BEFORE_OPEN,
    Stage.CLOSING_AFTER_FAILURE: HookName.AFTER_APPLY,
    Stage.FAILED: HookName.AFTER_APPLY,
}


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


class Found(NamedTuple):
    """A target, and whether a controller is at work on it, as kstatus has it by `Reconciling`."""

    observed: Observed
    reconciles: bool


@dataclass(frozen=True)
class Hooks:
    """The hooks of a policy, by their names, around the runs of its gate.

    The note is in the ConfigMap at the path `note`. With `pending` hooks are left out where no
    target has something to apply, `verification` is for a hook that checks what was applied.
    """

    gate: Gate
    cluster: Cluster
    jobs: Jobs
    note: str
    hooks: dict[HookName, Hook]
    pending: ModuleType | None = None
    verification: ModuleType | None = None

    def run(self, *, allow_missing: bool) -> bool:
        """Make every target what it should be, until no hook is due; say whether all is well."""
        for _ in range(_ROUNDS):
            began = self._decision()
            permission = self._permission(began)
            if permission is None:
                continue  # another run was faster
            well = self._update(began, permission, allow_missing=allow_missing)
            try:
                goes_on = self._move(began, permission)
            except Exception as error:  # noqa: BLE001 - whatever it is
                message = f"hooks could not go on: {words_of(error)}"
                self.gate.log(action=LogAction.LEFT_TO_NEXT_RUN, message=message)
                return False
            if not goes_on and self._lasts(began):
                return well
        return False

    def _decision(self) -> Decision:
        return self.gate.decides(self.gate.now())

    def _lasts(self, decision: Decision) -> bool:
        now = self._decision()
        return now.open == decision.open and now.since == decision.since

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
            waits = (
                decision.open
                and target not in timetable.released
                and change.action is Action.OPENED
            )
            if waits and permission.may is not May.OPEN:
                raise ApiError(_DUE, HTTPStatus.PRECONDITION_FAILED)
            return change

        gate = replace(self.gate, due_change=change_within)
        if self.pending:
            gate = replace(gate, observe=partial(self.pending.observe, gate.timetable.own_names))
        updated = gate.run(self.cluster, allow_missing=allow_missing)
        return updated and not permission.problem

    def _note(self) -> Note:
        """Read the note; raise where it is not known what time it is."""
        note = notes.read(self.cluster, self.note)
        if self.cluster.clocks_are_apart:
            raise ApiError(f"not started: {APART}")
        return note

    def _find(self) -> dict[Target, Found]:
        """Read every target that exists; raise for one that cannot be read."""
        targets = self.gate.timetable.targets
        self.cluster.renew(len(targets))
        found = self.cluster.each(targets, self._read)
        return {target: each for target, each in found if each}

    def _read(self, cluster: Cluster, target: Target) -> Found | None:
        live = find(cluster, target)
        if live is None:
            return None
        observed = self.gate.inherit(cluster, target, self.gate.observe(target, live))
        return Found(observed, dig(true_of(live).get("Reconciling"), "reason") not in _AT_REST)

    def _turned(self, found: dict[Target, Found], *, opens: bool) -> list[Target]:
        """List what a run would open, or close."""
        timetable, now = self.gate.timetable, self.gate.now()
        action = Action.OPENED if opens else Action.CLOSED
        decision = replace(self.gate.decides(now), open=opens)
        return [
            target
            for target, each in found.items()
            if due_change(timetable, target, each.observed, decision, now).action is action
        ]

    # While a window is open: to where targets may be opened.

    def _permission(self, began: Decision) -> Permission | None:
        """Say what a run may do, None if another run was faster.

        A fault on the way opens nothing, and keeps nothing open.
        """
        if not began.open:
            return Permission(May.CLOSE)
        try:
            return self._before(began)
        except Exception as error:  # noqa: BLE001 - whatever it is
            return Permission(May.KEEP, f"hooks: {words_of(error)}")

    def _before(self, decision: Decision) -> Permission | None:
        """Bring an occurrence to where targets may be opened, as far as that goes."""
        note = self._note()
        is_this = note.occurrence == occurrence(decision)
        if is_this and self._may_open(note):
            return Permission(May.OPEN)
        failed = _FAILED.get(note.stage)
        # A hook that was mended since is another one, which has not failed.
        if is_this and failed and note.job == self.job_name(failed, note):
            return self._failed(failed, note)
        if is_this and note.stage is Stage.OPENING and HookName.BEFORE_OPEN in self.hooks:
            return self._open(note, decision)
        found = self._find()
        is_open = bool(self._turned(found, opens=False))
        # One whose targets have stayed open goes on, with another beginning of its occurrence.
        goes_on = is_this or (note.stage is Stage.MAY_OPEN and is_open)
        has_hook = note.stage in ENDING and ENDING[note.stage][1]
        if has_hook or not (goes_on or note.stage in (Stage.ABORTED, Stage.CLOSED)):
            return Permission(May.CLOSE, "hooks: the previous occurrence must be finished first")
        return self._begin(note, decision, self._turned(found, opens=True), is_open=is_open)

    def _may_open(self, note: Note) -> bool:
        """Say whether the hook before opening has run, or there is none."""
        has_run = bool(note.job) or HookName.BEFORE_OPEN not in self.hooks
        return note.stage is Stage.MAY_OPEN and not note.skipped and has_run

    def _failed(self, name: HookName, note: Note) -> Permission:
        problem = f"hooks.{name} failed: Job {self.jobs.namespace}/{note.job}"
        return Permission(May.CLOSE, problem, Cause.HOOK_FAILED)

    def _begin(
        self, last: Note, decision: Decision, waiting: list[Target], *, is_open: bool
    ) -> Permission | None:
        """Begin a cycle, unless one goes on; none where nothing is open, or waits to be opened."""
        if not waiting and not is_open:
            return Permission(May.KEEP)
        may_open = self._may_open(last)
        skipped = not may_open and self._is_skipped(last, waiting)
        is_due = bool(waiting) and HookName.BEFORE_OPEN in self.hooks and not (may_open or skipped)
        stage = Stage.OPENING if is_due else Stage.MAY_OPEN
        note = replace(last, occurrence=occurrence(decision), stage=stage, skipped=skipped)
        if note != last:
            cycle = max(last.cycle + 1, int(self.gate.now().timestamp()))
            job = last.job if may_open else ""
            note = replace(note, cycle=cycle, job=job, applied=self._applied(last), changed="")
            if is_due:
                note = replace(note, job=self.job_name(HookName.BEFORE_OPEN, note))
            if not notes.write(self.cluster, self.note, note) or is_due:
                return None
            if skipped:
                message = "no target has anything to apply"
                self.gate.log(action=LogAction.SKIPPED, message=message)
        return Permission(May.OPEN if waiting else May.KEEP)

    def _is_skipped(self, last: Note, waiting: list[Target]) -> bool:
        """Say whether hooks are left out, as what waits to be opened has nothing to apply."""
        if self.pending is None or not waiting:
            return self.pending is not None and last.stage is Stage.MAY_OPEN and last.skipped
        return not self.pending.any_waits(self.gate, self.cluster, waiting)

    def _applied(self, last: Note) -> str:
        """Give what is applied before anything is opened, unless there is more to be checked."""
        # Targets have stayed open, or what has failed is checked again by a hook that was mended.
        if self.verification is None or (
            last.applied and last.stage in (Stage.MAY_OPEN, Stage.FAILED)
        ):
            return last.applied
        return str(self.verification.applied(self.gate, self.cluster))

    def _open(self, note: Note, decision: Decision) -> Permission | None:
        """Run the hook before opening, and note how it ended."""
        end = self.start(HookName.BEFORE_OPEN, note.job, partial(self._lasts, decision))
        if end is JobEnd.BROKEN_OFF:
            return Permission(May.KEEP, "hooks.beforeOpen did not end before the window did")
        passed = end is JobEnd.WELL or not self.hooks[HookName.BEFORE_OPEN].aborts
        if end is JobEnd.NEVER_BEGAN and not passed:  # the next run tries again
            return self._failed(HookName.BEFORE_OPEN, note)
        stage = Stage.MAY_OPEN if passed else Stage.ROLLING_BACK
        if not notes.write(self.cluster, self.note, replace(note, stage=stage)):
            there = self._note()
            if (there.cycle, there.stage) != (note.cycle, stage):  # as by a newer timetable
                return Permission(May.KEEP, "hooks: another run has ended what this one began")
        return None

    # After the targets were updated: to what is next.

    def _move(self, began: Decision, permission: Permission) -> bool:
        """Do what is due, and note what is next; say whether that is due in this run, too."""
        is_closed = permission.may is May.CLOSE
        if not is_closed and self.verification is None:
            return False
        note = self._note()
        is_over = note.stage is Stage.CLOSED or self._is_about_to_begin(note)
        if is_closed and (is_over or not self._lasts(began)):
            return False
        later = self._later(note, began) if is_closed else self._checked(note, began)
        if later == note:
            return False
        notes.write(self.cluster, self.note, later)  # unless another run was faster
        # After a cycle has ended, another run may have begun to open, by a newer timetable.
        return began.open or later.stage is not Stage.CLOSED

    def _checked(self, note: Note, began: Decision) -> Note:
        """Check what was applied while it is open."""
        if self.verification is None or note.occurrence != occurrence(began):
            return note
        if note.stage is not Stage.MAY_OPEN:
            return note
        checked: Note = self.verification.check(self, note, partial(self._lasts, began))
        return checked

    def _later(self, note: Note, began: Decision) -> Note:
        """Run the hook that is due once all is closed, if one is, and give the note that is next.

        Raises what has to wait for the next run.
        """
        stage, name = ENDING[note.stage]
        is_over = not began.open or note.occurrence != occurrence(began)
        if name is None:
            return replace(note, stage=stage) if is_over else note
        if stage is Stage.ABORTED and is_over:
            stage = Stage.CLOSED
        if note.stage is Stage.CLOSING:
            self._calm(note)
        if self._is_overtaken(note, name):
            return note
        if note.stage is Stage.ROLLING_BACK and HookName.BEFORE_OPEN in self.hooks:
            self.start(HookName.BEFORE_OPEN, note.job, begins=False)  # it may not have ended yet
        if note.stage is Stage.CLOSING and self.verification:
            note = self.verification.check(self, note, lambda: True)
            if note.stage is not Stage.CLOSING:
                return note
        is_skipped = note.skipped and name is HookName.AFTER_CLOSE
        if name not in self.hooks or is_skipped:
            return replace(note, stage=stage)
        if self.start(name, self.job_name(name, note)) is JobEnd.NEVER_BEGAN:
            raise ApiError(f"hooks.{name} could not be started")
        return replace(note, stage=stage)

    def _is_overtaken(self, note: Note, name: HookName) -> bool:
        """Say whether another run has ended this cycle, and opens again.

        Raises where this cycle's targets are open yet.
        """
        is_open = bool(self._turned(self._find(), opens=False))
        if is_open and self._note() == note:
            raise ApiError(f"hooks.{name} waits until all targets are closed")
        return is_open

    def _is_about_to_begin(self, note: Note) -> bool:
        """Say whether an occurrence begins in a moment: by another node's clock it has begun."""
        now = self.gate.now()
        return timedelta(0) < (read_instant(note.occurrence) or now) - now < AHEAD

    def _calm(self, note: Note) -> None:
        """Wait until nothing reconciles, but for as long as the hooks that wait for it at most.

        It has to be found twice in a row, as a status may lag.
        """
        names = [HookName.AFTER_APPLY] + [HookName.AFTER_CLOSE] * (not note.skipped)
        seconds = [self.hooks[name].seconds for name in names if name in self.hooks]
        end = monotonic() + max(seconds, default=0)
        calm = 0
        while calm < _CALM and monotonic() < end:
            sleep(self.jobs.pause)
            found = self._find()
            reconciles = any(each.reconciles for each in found.values())
            is_calm = not reconciles and not self._turned(found, opens=False)
            calm = calm + 1 if is_calm else 0

    # Jobs.

    def job_name(self, name: HookName, note: Note) -> str:
        """Name a hook's Job by policy, hook and cycle, what it does and where.

        So a hook that was mended has another Job.
        """
        hook = self.hooks.get(name)
        if hook is None:
            return ""
        # 2026-11-20T08:00:00+00:00, to the minute
        since = re.sub("[^0-9]", "", note.occurrence or "")[:12] or "always"
        # A check is of one set of revisions, which have `changed`.
        cycle = [note.occurrence, note.cycle, note.changed]
        whole = [self.gate.timetable.policy, name, cycle, self.jobs.namespace, asdict(hook)]
        return f"{hook.name}-{since}-{digest(json.dumps(whole))}"

    def start(
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
        end, failure = self.jobs.run(job_name, self.hooks[name], lasts, begins=begins)
        if end is not JobEnd.BROKEN_OFF:
            self.gate.log(hook=name, job=f"{self.jobs.namespace}/{job_name}", failure=failure)
        return end


def run(
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
    pending: ModuleType | None = None,
    verification: ModuleType | None = None,
    **pace: float,
) -> bool:
    """Run as the gate does, with the hooks of the file beside the timetable around it.

    `pace` is that of `Jobs`.
    """
    data = json.loads((gate.files / "hooks.json").read_text(encoding="utf-8"))
    # One of an unknown name would never run, so nothing is opened without it.
    named = {HookName(name): Hook(**hook) for name, hook in data["hooks"].items()}
    jobs = Jobs(cluster, data["namespace"], **pace)
    home = gate.timetable.policy.partition("/")[0]
    note = f"/api/v1/namespaces/{home}/configmaps/{data['note']}"
    hooks = Hooks(gate, cluster, jobs, note, named, pending, verification)
    return hooks.run(allow_missing=allow_missing)


def find(cluster: Cluster, target: Target) -> Json | None:
    """Give the object of a target, None where there is none; raise `ApiError`."""
    try:
        return cluster.get(target)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def occurrence(decision: Decision) -> str | None:
    """Name the occurrence of the calendar in which a decision was made: by its beginning."""
    return decision.since.isoformat() if decision.since else None
