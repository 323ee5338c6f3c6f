"""A Job that checks what was applied while a window is open, and closes again where it fails.

It is due once all targets have reconciled, and any of them has another revision than the one that
was found well before. Each run asks for that while it is open, and the one that closes does once
more: a window may be shorter than the interval. The Job is named by those revisions, so any run
that finds them finds it, too.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from krm_windows.gate import revisions
from krm_windows.gate.annotations import digest
from krm_windows.gate.hooks import Hooks, LogAction, find
from krm_windows.gate.jobs import JobEnd, true_of
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.notes import HookName, Note, Stage
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.timetable import Target

_HOOK = HookName.AFTER_APPLY


class _Applied(NamedTuple):
    """What a target has applied, and why it has not reconciled, in no words if it has.

    `source` is that of a Kustomization which is not suspended.
    """

    target: Target
    revision: str
    source: revisions.Source | None = None
    waits: str = ""


def applied(gate: Gate, cluster: Cluster) -> str:
    """Return what stands for the revisions that all targets have applied."""
    return _digest(_find(gate, cluster))


def check(hooks: Hooks, note: Note, lasts: Callable[[], bool]) -> Note:
    """Run the Job of a check while it `lasts`, if one is due; give the note that is next."""
    found = _find(hooks.gate, hooks.cluster)
    revised = _digest(found)
    well = replace(note, applied=revised)
    if not note.applied or revised in (note.applied, note.changed):
        return well  # what was applied before the hook came is not checked
    waits = _waits(found)
    if waits:
        hooks.gate.log(action=LogAction.WAITING, message=f"hooks.{_HOOK} waits: {waits}")
        return note
    due = replace(note, changed=revised)
    due = replace(due, job=hooks.job_name(_HOOK, due))
    end = hooks.start(_HOOK, due.job, lasts)
    if end is JobEnd.NEVER_BEGAN:
        raise ApiError(f"hooks.{_HOOK} could not be started")
    if end is JobEnd.WELL or (end is JobEnd.BAD and not hooks.hooks[_HOOK].aborts):
        return well
    # Where a newer revision has been applied meanwhile, that is what counts.
    if end is JobEnd.BAD and applied(hooks.gate, hooks.cluster) == revised:
        return replace(due, stage=Stage.CLOSING_AFTER_FAILURE)
    return note


def _find(gate: Gate, cluster: Cluster) -> list[_Applied]:
    """Read what each target has applied; raise what one of them cannot be read for."""
    every = gate.timetable.targets
    targets = [each for each in every if (each.group, each.kind) in revisions.KINDS]
    cluster.renew(len(targets))
    return [found for _, found in cluster.each(targets, _read) if found]


def _read(cluster: Cluster, target: Target) -> _Applied | None:
    """Read what a target has applied; None for one that does not exist."""
    live = find(cluster, target)
    if live is None:
        return None
    revision = revisions.reconciled(live)
    if dig(live, "spec", "suspend") is True:  # nobody is at work on it
        return _Applied(target, revision)
    source = None
    if target.kind == "Kustomization":
        source = revisions.source(live, target.namespace, "spec", "sourceRef")
    waits = ""
    if "Ready" not in true_of(live):
        waits = "is not ready"
    elif dig(live, "status", "observedGeneration") != dig(live, "metadata", "generation"):
        waits = "has changed since it was reconciled"
    return _Applied(target, revision, source, waits)


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
