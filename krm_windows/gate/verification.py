"""A Job that checks what was applied while a window is open, and closes again where it fails.

It is due once all targets have reconciled, and any of them has another revision than the one that
was found well before. Each run asks for that while it is open, and the one that closes does once
more: a window may be shorter than the interval.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import ClassVar

from krm_windows.gate import revisions
from krm_windows.gate.annotations import digest
from krm_windows.gate.hooks import KEPT, Hooks, LogAction, May, Permission, occurrence
from krm_windows.gate.jobs import JobEnd
from krm_windows.gate.kubernetes import REFUSED, ApiError, Cluster
from krm_windows.gate.notes import ENDING, HookName, Note, Stage, Transition, When
from krm_windows.gate.objects import dig
from krm_windows.gate.run import words_of
from krm_windows.gate.target import true_of
from krm_windows.gate.timetable import Decision, Target

_HOOK = HookName.AFTER_APPLY
_OPEN = (Stage.OPEN, Stage.MAY_OPEN)
_CHECK = Transition(Stage.CHECKING, When.OVER)
CHECKED_ENDING = ENDING | dict.fromkeys(_OPEN, _CHECK)
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class _Applied:
    """What a target has applied, and what it waits for, in no words if it has reconciled.

    `source` is that of a Kustomization which is not suspended.
    """

    target: Target
    revision: str
    source: revisions.Source | None
    waits: str


class VerifiedHooks(Hooks):
    """Hooks, of which one checks what was applied."""

    ending: ClassVar[dict[Stage, Transition]] = CHECKED_ENDING

    def _begun(self, note: Note, last: Note) -> Note:
        """Note what is applied before anything is opened, unless there is more to be checked."""
        if last.applied and last.stage in _OPEN:  # targets stay open
            return replace(note, applied=last.applied, changed=last.changed, check=last.check)
        # What has failed is checked again by a hook that was mended since.
        if last.applied and last.stage is Stage.FAILED and last.occurrence == note.occurrence:
            return replace(note, applied=last.applied)
        return replace(note, applied=_digest(self._all_applied()))

    def _checked(self, began: Decision, permission: Permission) -> JobEnd:
        """Check what was applied since; `JobEnd.BAD`: it was noted that all is to be closed.

        A fault on the way leaves it to the next run.
        """
        if permission.may is May.CLOSE:
            return JobEnd.WELL
        try:
            note = self.notes.latest(self._find())
            if note.stage not in _OPEN or note.occurrence != occurrence(began):
                return JobEnd.WELL
            return self._check(note, lambda: self._lasts(began))
        except Exception as error:  # noqa: BLE001 - whatever it is
            self._log(
                LogAction.LEFT_TO_NEXT_RUN,
                f"hooks.{_HOOK} could not go on: {words_of(error)}",
            )
            return JobEnd.NEVER_BEGAN

    def _check(self, note: Note, lasts: Callable[[], bool]) -> JobEnd:
        due = self._due_check(note)
        if due is None:
            return JobEnd.WELL
        end = self._run_check(due, lasts)
        if end is JobEnd.WELL:
            self.notes.write(self._well(due), due)
        elif end is JobEnd.BAD:
            # Another run may have found a newer revision: then that is what counts.
            if not self.notes.write(
                self._at_now(replace(due, stage=Stage.CLOSING_AFTER_FAILURE)), due
            ):
                return JobEnd.WELL
        elif end is JobEnd.NEVER_BEGAN:
            self.notes.write(self._at_now(due), due)  # so that it is never too old to begin
        return end

    def _follow(self, note: Note, transition: Transition) -> Note:
        """Check once more when all is closed, before anything else runs then."""
        if transition.hook is not _HOOK:
            return super()._follow(note, transition)
        due = self._due_check(note)
        if due is None:
            return super()._follow(note, replace(transition, hook=None))
        end = self._run_check(due, lambda: True)
        if end is JobEnd.NEVER_BEGAN:  # the next run tries again, and nothing else runs before
            raise ApiError(REFUSED, f"hooks.{_HOOK} could not be started")
        later = replace(self._well(due), stage=transition.to)
        if end is JobEnd.BAD and transition.failed is not None:
            later = self._at_now(replace(due, stage=transition.failed))
        if self.notes.write(later, due):
            return later
        return note

    def _due_check(self, note: Note) -> Note | None:
        """Note which check is due, under which name its Job can be found; None if none is."""
        found = self._all_applied()
        applied = _digest(found)
        if not note.applied:  # the hook is new: what was applied before it came is not checked
            self.notes.write(self._at_now(replace(note, applied=applied)), note)
            return None
        if applied == note.applied:
            return None
        waits = _waits(found)
        if waits:
            self._log(LogAction.WAITING, f"hooks.{_HOOK} waits: {waits}")
            return None
        due = replace(note, changed=applied)
        due = replace(due, check=self._job_name(_HOOK, due))
        if due == note:
            return note  # another run has begun it
        due = self._at_now(due)
        if self.notes.write(due, note):
            return due
        return None

    def _run_check(self, due: Note, lasts: Callable[[], bool]) -> JobEnd:
        """Run the Job of a check, and say how it ended; a failure that is passed over is well."""
        age = self.gate.now() - datetime.fromisoformat(due.at)
        end = self._run(_HOOK, due.check, lasts, begins=age < KEPT)
        if end is JobEnd.BAD and not self.hooks[_HOOK].aborts:
            return JobEnd.WELL
        return end

    def _well(self, due: Note) -> Note:
        return self._at_now(replace(due, applied=due.changed, changed="", check=""))

    def _at_now(self, note: Note) -> Note:
        """Date a note, later than it was: notes of one stage are told apart by that."""
        now = max(self.gate.now(), datetime.fromisoformat(note.at) + _TICK)
        return replace(note, at=now.isoformat())

    def _all_applied(self) -> list[_Applied]:
        """Read what each target has applied; raise what one of them cannot be read for."""
        targets = [
            target
            for target in self.gate.timetable.targets
            if (target.group, target.kind) in revisions.KINDS
        ]
        self.cluster.renew(len(targets))
        every = self.cluster.each(targets, _read)
        return [applied for _, applied in every if applied is not None]


def _read(cluster: Cluster, target: Target) -> _Applied | None:
    """Read what a target has applied; None for one that does not exist."""
    try:
        return cluster.get(target, _applied)
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def _applied(target: Target, live: object) -> _Applied:
    source = None
    if target.kind == "Kustomization" and dig(live, "spec", "suspend") is not True:
        source = revisions.source(live, target.namespace, "spec", "sourceRef")
    return _Applied(target, revisions.reconciled(live), source, _waits_for(live))


def _waits_for(live: object) -> str:
    """Say what a target waits for, in no words if it has reconciled."""
    # A person keeps it closed, or the window does: nobody is at work on it.
    if dig(live, "spec", "suspend") is True:
        return ""
    if "Ready" not in true_of(live):
        return "is not ready"
    if dig(live, "status", "observedGeneration") != dig(live, "metadata", "generation"):
        return "has changed since it was reconciled"
    return ""


def _waits(found: list[_Applied]) -> str:
    """Say which of the targets has not reconciled yet what another one has."""
    first: dict[revisions.Source, _Applied] = {}
    for each in found:
        if each.waits:
            return f"{each.target} {each.waits}"
        if each.source is None:
            continue
        # Flux begins with all Kustomizations of a source at once, and ends with one after another.
        other = first.setdefault(each.source, each)
        if other.revision != each.revision:
            return f"{each.target} has {each.revision}, {other.target} {other.revision}"
    return ""


def _digest(found: list[_Applied]) -> str:
    """Return what stands for all revisions in a note."""
    said = [[str(each.target), each.revision] for each in found]
    return digest(json.dumps(said))
