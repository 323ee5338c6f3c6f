"""What a target has applied, and what its source offers, as the objects of a cluster say it.

Kinds differ in where they note it: a Kustomization in `status.lastAppliedRevision`, a HelmRelease
in `status.history`, a source in `status.artifact`. What a suspended source would find is not known
to the cluster, as nobody looks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from krm_windows.gate import revisions
from krm_windows.gate.annotations import CLOSED_BY
from krm_windows.gate.jobs import true_of
from krm_windows.gate.objects import dig
from krm_windows.gate.revisions import SOURCE, Source, text
from krm_windows.gate.timetable import Target
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.pending.revisions import Revision, Sources, artifact, named
from krm_windows.status.objects import Address, LiveObject, entries

# The version that a HelmRelease asks for where it names none (helm-controller, HelmChartTemplate).
_ANY = "*"
# Each of these outranks the branch (source-controller, GitRepositoryRef).
_ABOVE_BRANCH = ("tag", "semver", "name", "commit")


_Judge: TypeAlias = Callable[[LiveObject, LiveObject, Revision, "Offer", Sources], "Offer"]


class Waits(Enum):
    """Whether something waits for a target to be opened."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Offer:
    """What a target has applied, and what it would apply.

    `source` names where that comes from, as `GitRepository flux-system/fleet`. `notes` say why it
    is not known, or what else changes.
    """

    waits: Waits
    source: str = ""
    applied: Revision | None = None
    offered: Revision | None = None
    notes: tuple[str, ...] = ()


def wanted(target: Target, live: LiveObject) -> Iterator[Address]:
    """Yield the source that a target takes its revisions from, if it is another object."""
    if _is(target, KUSTOMIZE, "Kustomization"):
        yield _address(revisions.source(live, target.namespace, "spec", "sourceRef"))
    elif _is(target, HELM, "HelmRelease"):
        chart = revisions.chart(live, target.namespace)
        if chart is not None:
            yield _address(chart)


def read(target: Target, live: LiveObject, sources: Sources) -> Offer:
    """Return what a target has applied and what is offered."""
    if target.group == SOURCE:
        return _source(target, live, sources)
    if _is(target, KUSTOMIZE, "Kustomization"):
        judge: _Judge = _kustomization
        applied = _revision(
            text(live, "status", "lastAppliedRevision"),
            text(live, "status", "lastAppliedOriginRevision"),
        )
    elif _is(target, HELM, "HelmRelease"):
        judge = _release
        applied = _revision(revisions.deployed(live)[0])
    else:
        note = f"the status of a {target.kind} has no pending revision"
        return Offer(Waits.UNKNOWN, notes=(note,))
    address = next(wanted(target, live), None)
    if address is None:
        note = "it has no HelmChart yet: helm-controller creates it at the first reconcile"
        return Offer(Waits.UNKNOWN, applied=applied, notes=(note,))
    source = sources.found.get(address)
    offered = None if source is None else artifact(source)
    if source is None or offered is None:
        # It may be of another namespace, in which kubectl may read nothing, or never fetched.
        note = sources.missing(address) if source is None else f"{named(address)} has no artifact"
        return Offer(Waits.UNKNOWN, named(address), applied, notes=(note,))
    offer = judge(live, source, offered, Offer(Waits.YES, named(address), applied), sources)
    unknown = (*_unfetched(source), *_unread(live))
    # Nobody can say then that nothing waits.
    waits = Waits.UNKNOWN if unknown and offer.waits is Waits.NO else offer.waits
    return replace(offer, waits=waits, notes=(*offer.notes, *unknown))


def _is(target: Target, group: str, kind: str) -> bool:
    return (target.group, target.kind) == (group, kind)


def _kustomization(
    live: LiveObject, source: LiveObject, offered: Revision, offer: Offer, sources: Sources
) -> Offer:
    notes = list(_tried(live, offered, offer.applied))
    waits = _compared(offer.applied, offered)
    if _is_suspended(source):
        waits, offered, note = _found_here(source, offer.applied, offered, sources)
        notes.append(f"{offer.source} {note}")
    # `status.observedGeneration` says nothing, as kustomize-controller raises that while the object
    # is suspended, too. What the condition notes is as old as the condition.
    reconciled = dig(true_of(live).get("Ready"), "observedGeneration")
    if _has_changed(live, reconciled):
        waits = Waits.YES
        notes.append("its spec has changed since it was reconciled")
    return replace(offer, waits=waits, offered=offered, notes=tuple(notes))


def _release(
    live: LiveObject, chart: LiveObject, offered: Revision, offer: Offer, _: Sources
) -> Offer:
    version, digest = revisions.deployed(live)
    # The chart may be the same, and the values others: that is an upgrade, too.
    notes = tuple(_edited(live, chart))
    is_installed = revisions.is_installed(version, digest, offered.text)
    waits = Waits.NO if is_installed and not notes else Waits.YES
    return replace(offer, waits=waits, offered=offered, notes=notes)


def _unfetched(source: LiveObject) -> Iterator[str]:
    """Say why a source may offer more than the artifact that it has."""
    # A suspended one looks for nothing, which is said anyhow.
    if _is_suspended(source):
        return
    name = f"{source.get('kind')} {dig(source, 'metadata', 'name')}"
    seen = dig(source, "status", "observedGeneration")
    if isinstance(seen, int) and seen != dig(source, "metadata", "generation"):
        yield f"{name} has changed since it was fetched, so its newest revision is unknown"
    for condition in entries(source, "status", "conditions"):
        if dig(condition, "type") == "Ready" and dig(condition, "status") != "True":
            yield f"{name} is not ready, so its newest revision is unknown"


def _unread(live: LiveObject) -> Iterator[str]:
    """Say what else a closed target would take over once it opens, and nobody has compared."""
    for path in (("postBuild", "substituteFrom"), ("valuesFrom",)):
        if _is_suspended(live) and dig(live, "spec", *path):
            yield f"what its `{'.'.join(('spec', *path))}` names was not compared"


def _tried(
    live: LiveObject,
    offered: Revision,
    applied: Revision | None,
) -> Iterator[str]:
    """Say where a revision waits because it could not be applied."""
    if applied is not None and applied.is_same(offered):
        return
    # kustomize-controller notes the revision before it builds, and the applied one at the end.
    if text(live, "status", "lastAttemptedRevision") != offered.text:
        return
    # Only a condition that is True is no reason: `Ready` is what failed.
    if "Ready" not in true_of(live):
        yield "it was tried, but could not be applied"


def _edited(live: LiveObject, chart: LiveObject) -> Iterator[str]:
    """Say what else has changed in a HelmRelease that helm-controller has not seen."""
    asked = text(live, "spec", "chart", "spec", "chart")
    # A HelmChart is made and changed when the release is reconciled, which suspended it is not.
    if asked and chart.get("kind") == "HelmChart":
        version = text(live, "spec", "chart", "spec", "version") or _ANY
        had = text(chart, "spec", "chart")
        had_version = text(chart, "spec", "version") or _ANY
        if asked != had or version != had_version:
            yield f"it now asks for chart {asked} {version}, which is fetched when it opens"
    if _has_changed(live, dig(live, "status", "lastAttemptedGeneration")):
        yield "its spec has changed since it was reconciled (for example its values)"


def _has_changed(live: LiveObject, reconciled: object) -> bool:
    """Say whether a spec was edited since the generation that its status says was reconciled."""
    generation = dig(live, "metadata", "generation")
    noted = set(_noted(live))
    if noted and _is_suspended(live):
        return generation not in noted
    # Of one that was never reconciled nothing is known.
    if not isinstance(generation, int) or not isinstance(reconciled, int):
        return False
    # To suspend it is a change, too: that one counts for nothing.
    return generation - reconciled > int(_is_suspended(live))


def _noted(live: LiveObject) -> Iterator[int]:
    """Yield the generation that a target has by being closed, as gates note it for their hooks."""
    annotations = dig(live, "metadata", "annotations")
    if not isinstance(annotations, dict):
        return
    for key, said in annotations.items():
        if key.startswith(CLOSED_BY) and isinstance(said, str):
            generation = revisions.noted(said)
            if generation is not None:
                yield generation


def _source(target: Target, live: LiveObject, sources: Sources) -> Offer:
    """Return what a source that is a target itself has."""
    source = str(target)
    current = artifact(live)
    if current is None:
        return Offer(Waits.UNKNOWN, source, notes=("it has no artifact",))
    # An open source has what it found at its last interval, or a moment ago by a webhook.
    if not _is_suspended(live):
        return Offer(Waits.NO, source, current, current)
    waits, offered, note = _found_here(live, current, current, sources)
    return Offer(waits, source, current, offered, (f"it {note}",))


def _found_here(
    source: LiveObject,
    applied: Revision | None,
    offered: Revision,
    sources: Sources,
) -> tuple[Waits, Revision, str]:
    """Return what a suspended source would find, where a repository at hand says it."""
    waits = _compared(applied, offered)
    reference = dig(source, "spec", "ref")
    branch = text(reference, "branch")
    outranked = any(text(reference, key) for key in _ABOVE_BRANCH)
    head = ""
    # Of Helm and OCI repositories nothing is at hand.
    is_followed = source.get("kind") == "GitRepository" and branch and not outranked
    if is_followed and sources.head is not None:
        head = sources.head(branch, offered.commit)
    if head:
        found = Revision(f"{branch}@sha1:{head}")
        waits = _compared(applied, found)
        return waits, found, "is suspended: new commits are read from the repository here"
    # What is newer than its last artifact the cluster does not know.
    if waits is Waits.NO:
        waits = Waits.UNKNOWN
    return waits, offered, "is suspended, so it does not look for newer revisions"


def _is_suspended(live: LiveObject) -> bool:
    return dig(live, "spec", "suspend") is True


def _compared(applied: Revision | None, offered: Revision) -> Waits:
    # What was never applied waits, too.
    if applied is not None and applied.is_same(offered):
        return Waits.NO
    return Waits.YES


def _address(source: Source) -> Address:
    return SOURCE, *source


def _revision(revision: str, origin: str = "") -> Revision | None:
    # Before the first one is applied, Flux notes none.
    if not revision:
        return None
    return Revision(revision, origin)
