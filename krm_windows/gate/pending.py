"""Whether targets have something to apply: what they have applied, and what their sources offer.

What cannot be told counts as something, so that no hook is left out for want of knowledge.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from krm_windows.gate import revisions
from krm_windows.gate import target as target_of
from krm_windows.gate.annotations import Writer, annotation
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.revisions import Source, text
from krm_windows.gate.run import words_of
from krm_windows.gate.target import Observed, true_of
from krm_windows.gate.timetable import Target

Names = Sequence[str]  # of a policy, as `namespace/name`: today's, and its former ones


class _UnknownError(Exception):
    """It cannot be told what a source offers, or whether that is the newest."""


def observe(names: Names, target: Target, live: object) -> Observed:
    """Read a target, with the generation that the closed-by annotation notes.

    It is the one that the target has by being closed, and is noted when it is closed, if its spec
    was reconciled until then. So a target that has this generation has nothing in its spec that is
    yet to be applied. One that has another may have: it is noted once, and stays.
    """
    observed = target_of.observe(target, live)
    if observed.suspended:
        return observed._replace(generation=_noted(names, observed))
    return observed._replace(generation=revisions.by_closing(live))


def _noted(names: Names, observed: Observed) -> int | None:
    """Return what is noted, if the gate is recorded as its writer: only that is believed."""
    for key in map(annotation, names):
        if observed.writers.get(key) is Writer.GATE:
            return revisions.noted(observed.annotations[key])
    return None


def reasons(
    names: Names,
    cluster: Cluster,
    targets: Sequence[Target],
) -> Iterator[tuple[Target, str]]:
    """Yield for each target why it may have something to apply, empty where it has nothing."""
    cluster.renew(len(targets))
    yield from cluster.each(targets, partial(_reason, names))


def _reason(names: Names, cluster: Cluster, target: Target) -> str:
    if (target.group, target.kind) not in revisions.KINDS:
        return f"unknown: the status of a {target.kind} has no pending revision"
    try:
        live = cluster.get(target, _same)
        edited = _edited(observe(names, target, live), live)
        known = _unread(live) or edited
        if known:
            return known
        return _newer(cluster, target, live)  # asks for its source
    except _UnknownError as error:
        return f"unknown: {error}"
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing is known then
        return f"unknown: {words_of(error)}"


def _unread(live: object) -> str:
    """Say what of a target the gate cannot read, or where its last reconcile has failed."""
    if "Ready" not in true_of(live):
        return "it is not ready"
    for field in revisions.taken_from_elsewhere(live):
        return f"unknown: it takes values from objects that are not read ({field})"
    return ""


def _edited(observed: Observed, live: object) -> str:
    if observed.generation is None:
        return "unknown: nothing notes that its spec was reconciled before it was closed"
    if observed.generation != dig(live, "metadata", "generation"):
        return "its spec has changed since it was closed"
    return ""


def _newer(cluster: Cluster, target: Target, live: object) -> str:
    """Say what its source has that is not applied; raise `_UnknownError` or `ApiError`."""
    if target.kind == "HelmRelease":
        return _newer_chart(cluster, target, live)
    source = revisions.source(live, target.namespace, "spec", "sourceRef")
    offered = _offered(cluster, source)
    applied = text(live, "status", "lastAppliedRevision")
    if revisions.is_same(applied, offered):
        return ""
    return f"{source} has {offered}, but {applied or 'nothing'} is applied"


def _newer_chart(cluster: Cluster, target: Target, live: object) -> str:
    source = revisions.chart(live, target.namespace)
    if source is None:
        raise _UnknownError("it has no chart yet")
    offered = _offered(cluster, source)
    version, digest = revisions.deployed(live)
    if revisions.is_installed(version, digest, offered):
        return ""
    return f"{source} has {offered}, but {version or 'nothing'} is installed"


def _offered(cluster: Cluster, source: Source) -> str:
    """Return the newest revision of a source; raise `_UnknownError` where that is not known."""
    live = _read(cluster, source)
    _check_newest(source, live)
    revision = text(live, "status", "artifact", "revision")
    if not revision:
        raise _UnknownError(f"{source} has no artifact")
    # A chart is as new as what it comes from, which may be suspended.
    if source.kind == "HelmChart":
        origin = revisions.source(live, source.namespace, "spec", "sourceRef")
        _check_newest(origin, _read(cluster, origin))
    return revision


def _read(cluster: Cluster, source: Source) -> object:
    """Return the object of a source; raise `ValueError` for what can be none, or `ApiError`."""
    target = source.target
    if target is None:
        raise ValueError(f"{source} is not a Flux source")
    return cluster.get(target, _same)


def _same(target: Target, live: object) -> object:
    """Take what was asked for: a proxy may mix up answers. Raises `ValueError`."""
    if dig(live, "metadata", "name") != target.name:
        raise ValueError(f"another object than {target}")
    return live


def _check_newest(source: Source, live: object) -> None:
    """Raise `_UnknownError` where a source may come to have something newer than it has."""
    if dig(live, "spec", "suspend") is True:
        raise _UnknownError(f"{source} is suspended")
    is_oci = source.kind == "HelmRepository" and text(live, "spec", "type") == "oci"
    if is_oci or source.kind == "ExternalArtifact":
        return  # source-controller does not reconcile these, so nothing says how far it is
    if "Ready" not in true_of(live):
        raise _UnknownError(f"{source} is not ready")
    generation = dig(live, "metadata", "generation")
    if generation is None or dig(live, "status", "observedGeneration") != generation:
        raise _UnknownError(f"{source} has changed since it was reconciled")
