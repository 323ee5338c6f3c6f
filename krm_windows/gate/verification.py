"""A Job that checks what was applied while a window is open, and closes again where it fails.

It is due once all targets have reconciled, and any of them has another revision than the one that
was found well before. Each run asks for that while it is open, and the one that closes does once
more: a window may be shorter than the interval. The Job is named by those revisions, so any run
that finds them finds it, too.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from krm_windows.gate import revisions
from krm_windows.gate.annotations import digest
from krm_windows.gate.hooks import Hooks, LogAction, May, Permission, occurrence
from krm_windows.gate.jobs import JobEnd
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.notes import HookName, Note, Stage
from krm_windows.gate.objects import dig
from krm_windows.gate.run import words_of
from krm_windows.gate.target import true_of
from krm_windows.gate.timetable import Decision, Target

_HOOK = HookName.AFTER_APPLY


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

    def _applied_before(self, last: Note, decision: Decision) -> str:
        """Give what is applied before anything is opened, unless there is more to be checked."""
        # What has failed is checked again by a hook that was mended since.
        is_mended = last.stage is Stage.FAILED and last.occurrence == occurrence(decision)
        if last.applied and (last.stage is Stage.MAY_OPEN or is_mended):  # targets stay open
            return last.applied
        return _digest(self._all_applied())

    def _checked(self, began: Decision, permission: Permission) -> JobEnd:
        """Check what was applied since; `JobEnd.BAD`: there is more to do, maybe to close all.

        A fault on the way leaves it to the next run.
        """
        if permission.may is May.CLOSE:
            return JobEnd.WELL
        try:
            found, note = self._find()
            if note.stage is not Stage.MAY_OPEN or note.occurrence != occurrence(began):
                return JobEnd.WELL
            end, later = self._check(note, partial(self._lasts, began))
            if later != note and not self._write(found, note, later):
                return JobEnd.BAD  # another run was faster
        except Exception as error:  # noqa: BLE001 - whatever it is
            message = f"hooks.{_HOOK} could not go on: {words_of(error)}"
            self.gate.log(action=LogAction.LEFT_TO_NEXT_RUN, message=message)
            return JobEnd.NEVER_BEGAN
        return end

    def _follow(self, name: HookName, later: Note, note: Note) -> Note | None:
        """Check once more when all is closed, before anything else runs then."""
        if note.stage is not Stage.CLOSING:
            return super()._follow(name, later, note)
        end, checked = self._check(note, lambda: True)
        if end is JobEnd.NEVER_BEGAN:  # the next run tries again, and nothing else runs before
            raise ApiError(f"hooks.{_HOOK} could not be started")
        if end is not JobEnd.WELL:
            return checked
        return super()._follow(name, replace(checked, stage=later.stage), note)

    def _check(self, note: Note, lasts: Callable[[], bool]) -> tuple[JobEnd, Note]:
        """Run the Job of a check if one is due; say how it ended, and what is to be noted."""
        found = self._all_applied()
        applied = _digest(found)
        well = replace(note, applied=applied)
        if not note.applied or applied in (note.applied, note.changed):
            return JobEnd.WELL, well  # what was applied before the hook came is not checked
        waits = _waits(found)
        if waits:
            self.gate.log(action=LogAction.WAITING, message=f"hooks.{_HOOK} waits: {waits}")
            return JobEnd.WELL, note
        due = replace(note, changed=applied)
        due = replace(due, job=self._job_name(_HOOK, due))
        end = self._run(_HOOK, due.job, lasts)
        if end is JobEnd.WELL or (end is JobEnd.BAD and not self.hooks[_HOOK].aborts):
            return JobEnd.WELL, well
        if end is JobEnd.BAD and _digest(self._all_applied()) == applied:
            return end, replace(due, stage=Stage.CLOSING_AFTER_FAILURE)
        # Where a newer revision has been applied meanwhile, that is what counts.
        return JobEnd.BROKEN_OFF if end is JobEnd.BAD else end, note

    def _all_applied(self) -> list[_Applied]:
        """Read what each target has applied; raise what one of them cannot be read for."""
        targets = [
            target
            for target in self.gate.timetable.targets
            if (target.group, target.kind) in revisions.KINDS
        ]
        self.cluster.renew(len(targets))
        return [applied for _, applied in self.cluster.each(targets, _read) if applied]


def _read(cluster: Cluster, target: Target) -> _Applied | None:
    """Read what a target has applied; None for one that does not exist."""
    try:
        return _applied(target, cluster.get(target))
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise


def _applied(target: Target, live: object) -> _Applied:
    """Read what a target has applied. Nobody is at work on one that is suspended."""
    if dig(live, "spec", "suspend") is True:
        return _Applied(target, revisions.reconciled(live), None, "")
    source = None
    if target.kind == "Kustomization":
        source = revisions.source(live, target.namespace, "spec", "sourceRef")
    waits = ""
    if "Ready" not in true_of(live):
        waits = "is not ready"
    elif dig(live, "status", "observedGeneration") != dig(live, "metadata", "generation"):
        waits = "has changed since it was reconciled"
    return _Applied(target, revisions.reconciled(live), source, waits)


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
    return digest(json.dumps([[str(each.target), each.revision] for each in found]))
