"""Whether targets have something to apply: what they have applied, and what their sources offer.

What cannot be told counts as something, so that no hook is left out for want of knowledge.
"""

from collections.abc import Sequence
from functools import partial

from krm_windows.gate import revisions
from krm_windows.gate import target as target_of
from krm_windows.gate.annotations import Writer, annotation
from krm_windows.gate.jobs import true_of
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.revisions import Source, text
from krm_windows.gate.run import Gate, words_of
from krm_windows.gate.target import Observed
from krm_windows.gate.timetable import Target

Names = Sequence[str]  # of a policy, as `namespace/name`: today's, and its former ones


def observe(names: Names, target: Target, live: object) -> Observed:
    """Read a target, with the generation that the closed-by annotation notes.

    It is the one that the target has by being closed, and is noted when it is closed, if its spec
    was reconciled until then. So a target that has this generation has nothing in its spec that is
    yet to be applied. One that has another may have: it is noted once, and stays.
    """
    observed = target_of.observe(target, live)
    if not observed.suspended:
        return observed._replace(generation=revisions.by_closing(live))
    keys = [key for key in map(annotation, names) if observed.writers.get(key) is Writer.GATE]
    # Of what is noted only that is believed which the gate is recorded as the writer of.
    noted = revisions.noted(observed.annotations[keys[0]]) if keys else None
    return observed._replace(generation=noted)


def any_waits(gate: Gate, cluster: Cluster, targets: Sequence[Target]) -> bool:
    """Say whether any of the targets may have something to apply, and log which and why."""
    cluster.renew(len(targets))
    waits = False
    for target, reason in cluster.each(targets, partial(_reason, gate.timetable.own_names)):
        if reason:
            gate.log(target=str(target), pending=reason)
            waits = True
    return waits


def _reason(names: Names, cluster: Cluster, target: Target) -> str:
    """Say why a target may have something to apply, in no words if it has nothing."""
    try:
        live = cluster.get(target)
        return _waits(names, target, live) or _newer(cluster, target, live)
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing is known then
        return f"unknown: {words_of(error)}"


def _waits(names: Names, target: Target, live: object) -> str:
    """Say why its spec may have something to apply, or be what the gate cannot read."""
    if (target.group, target.kind) not in revisions.KINDS:
        return f"unknown: the status of a {target.kind} has no pending revision"
    if "Ready" not in true_of(live):
        return "it is not ready"
    for field in revisions.taken_from_elsewhere(live):
        return f"unknown: it takes values from objects that are not read ({field})"
    generation = observe(names, target, live).generation
    if generation is None:
        return "unknown: nothing notes that its spec was reconciled before it was closed"
    if generation != dig(live, "metadata", "generation"):
        return "its spec has changed since it was closed"
    return ""


def _newer(cluster: Cluster, target: Target, live: object) -> str:
    """Say what its source has that is not applied; raise `ApiError`."""
    if target.kind == "HelmRelease":
        source = revisions.chart(live, target.namespace)
        if source is None:
            raise ApiError("it has no chart yet")
        offered = _offered(cluster, source)
        applied, digest = revisions.deployed(live)
        is_new = not revisions.is_installed(applied, digest, offered)
    else:
        source = revisions.source(live, target.namespace, "spec", "sourceRef")
        offered = _offered(cluster, source)
        applied = text(live, "status", "lastAppliedRevision")
        is_new = not revisions.is_same(applied, offered)
    return f"{source} has {offered}, but {applied or 'nothing'} is applied" if is_new else ""


def _offered(cluster: Cluster, source: Source) -> str:
    """Return the newest revision of a source; raise `ApiError` where that is not known."""
    live = _newest(cluster, source)
    revision = text(live, "status", "artifact", "revision")
    if not revision:
        raise ApiError(f"{source} has no artifact")
    # A chart is as new as what it comes from, which may be suspended.
    if source.kind == "HelmChart":
        _newest(cluster, revisions.source(live, source.namespace, "spec", "sourceRef"))
    return revision


def _newest(cluster: Cluster, source: Source) -> object:
    """Return the object of a source; raise what it may have something newer than it says for."""
    target = source.target
    if target is None:
        raise ApiError(f"{source} is not a Flux source")
    live = cluster.get(target)
    if dig(live, "spec", "suspend") is True:
        raise ApiError(f"{source} is suspended")
    is_oci = source.kind == "HelmRepository" and text(live, "spec", "type") == "oci"
    if is_oci or source.kind == "ExternalArtifact":
        return live  # source-controller does not reconcile these, so nothing says how far it is
    if "Ready" not in true_of(live):
        raise ApiError(f"{source} is not ready")
    generation = dig(live, "metadata", "generation")
    if generation is None or dig(live, "status", "observedGeneration") != generation:
        raise ApiError(f"{source} has changed since it was reconciled")
    return live
