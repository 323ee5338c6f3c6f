"""What stays as it is when a target or its policy is removed while it is closed.

Neither kustomize-controller nor helm-controller removes anything for an object that is deleted
while it is suspended: their finalizers skip it (`finalizerShouldDeleteResources` in
kustomize-controller, `reconcileDelete` in helm-controller).
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster, file_of
from krm_windows.checks.repository.ownership import applied_by, prunes, says
from krm_windows.flux import Gate, Survey
from krm_windows.flux.layers import LEFT
from krm_windows.flux.model import Finding, ObjectIdentity, release_of
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import Timetable
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.plurals import some
from krm_windows.rules import Rule
from krm_windows.schedule import wallclock, zones

_PAGE = "docs/how-to/remove-an-application.md"
REMOVING = "docs/how-to/removing-a-policy.md"
_ADVICE = ": wait, or open it with an override"
_UNKNOWN = "when that is, is not known here"
_FEW = 3
# Whose finalizers remove what they applied; other kinds that can be gated apply nothing, or remove
# it suspended or not (source-controller).
_KINDS = {(KUSTOMIZE, "Kustomization"), (HELM, "HelmRelease")}


def left_closed(before: Survey, after: Survey, at: datetime) -> Iterator[Finding]:
    """Yield the targets that Git has no more, or that no policy opens any more.

    `at` is when the change would be merged; without an offset it is meant in a policy's zone.
    """
    still = {cluster.name: cluster for cluster in after.clusters}
    for cluster in before.clusters:
        now = still.get(cluster.name)
        for gate in cluster.gates if now else ():
            # A policy that is always open closes nothing.
            when = _when(gate, at)
            if not now or not when:
                continue
            # At the policy if it is still there, else in the cluster's directory.
            places = (each for each in now.gates if each.policy == gate.policy)
            place = next(places, None)
            about, path = (place.manifest, place.path) if place else (None, "")
            found = _of_gate(gate, GatedCluster(cluster), GatedCluster(now), when)
            for rule, message, name in found:
                yield Finding(rule, message, about, path, name, file=file_of(now), cluster=now.name)


def _of_gate(
    gate: Gate, before: GatedCluster, after: GatedCluster, when: str
) -> Iterator[tuple[Rule, str, str]]:
    """Yield what is found of the targets of a policy: the rule, a message, and the name of one."""
    targets = [ObjectIdentity(*identity) for identity in sorted(gate.identities)]
    still = [target for target in targets if target in after.cluster.objects]
    opened = _opened(after)
    dropped = [target for target in still if target not in opened]
    if dropped:
        message = (
            "no policy gates any more, nor lists in `released`: "
            f"{some(list(map(str, dropped)), _FEW)}; unless this is merged while {gate.policy} is "
            f"open, what is closed stays closed, and nothing opens it; {when} ({REMOVING})"
        )
        yield rules.TARGET_DROPPED, message, dropped[0].name
    for target in targets:
        if (target.group, target.kind) not in _KINDS or target in still:
            continue
        left = _left(target, before, after)
        # Whatever would stay without windows, too, is no matter of windows.
        if not left or not _is_deleted_closed(target, before, after):
            continue
        message = (
            f"{target} is removed: Flux removes nothing for a suspended {target.kind}, so unless "
            f"this is merged while {gate.policy} is open, {left} will stay in the cluster, "
            "and nothing manages it (but what is in a namespace that is removed, too); "
            f"{when} ({_PAGE})"
        )
        yield rules.TARGET_REMOVED, message, target.name


def _left(target: ObjectIdentity, before: GatedCluster, after: GatedCluster) -> str:
    """Say what a target applied that nothing else applies; empty where that is nothing."""
    if target not in before.cluster.objects:
        # It came from elsewhere before, or it was there by name only.
        return ""
    owner, item = before.cluster.objects[target]
    if target.kind == "HelmRelease":
        release = (before.cluster.destination(owner), *release_of(item))
        # A release of the same name is taken over, and not installed again.
        kept = {
            (after.cluster.destination(each), *release_of(other))
            for each, other in after.applied()
            if (other.group, other.kind) == (item.group, item.kind)
        }
        return "" if release in kept else f"the Helm release {'/'.join(release[-2:])}"
    own = before.cluster.kustomizations.get(target.path)
    if own is None or not own.leaves_nothing:
        return ""
    applied = applied_by(after)
    place = before.cluster.destination(own)
    left = [
        str(each)
        for each in own.objects
        if (place, each.identity) not in applied and not says(each, LEFT)
    ]
    if left:
        return some(left, _FEW)
    # Of a path in another repository nothing is known.
    return "" if own.complete else "what it applied"


def _is_deleted_closed(target: ObjectIdentity, before: GatedCluster, after: GatedCluster) -> bool:
    """Whether removing it from Git deletes it in the cluster, and it may be closed then."""
    owner, item = before.cluster.objects[target]
    is_kept = owner is before.cluster.first or owner.key in after.cluster.kustomizations
    # What another target leaves is that target's finding, and what is never removed stays anyhow.
    if not is_kept and (before.suspends(owner) or not owner.leaves_nothing):
        return False
    if says(item, LEFT) or not prunes(owner):
        return False
    deletes = after.cluster.kustomizations.get(owner.key, after.cluster.first)
    policies = before.gates(target)
    # What waits for the same windows deletes it when both are open, if it is still opened then.
    waits = policies <= before.holds(owner) and policies <= after.holds(deletes)
    return not (waits and target in _opened(after))


def _opened(after: GatedCluster) -> set[ObjectIdentity]:
    """Return what the policies of a cluster open, because they gate it or have released it."""
    gates = after.cluster.gates
    targets = chain.from_iterable((*gate.targets, *gate.released) for gate in gates)
    return set(map(ObjectIdentity.of_target, targets))


def _when(gate: Gate, at: datetime) -> str:
    """Say whether a policy is open, and when that changes; empty where it is always open."""
    timetable = gate.timetable()
    try:
        return _opening(timetable, at) if timetable else _UNKNOWN
    # Rendered files may hold anything.
    except (*UNREADABLE, AttributeError):
        return _UNKNOWN


def _opening(timetable: Timetable, at: datetime) -> str:
    """Say whether a policy is open, and when that changes; empty where it is always open."""
    zone = zones.zone(timetable.time_zone)
    if at.tzinfo is None:
        at = wallclock.utc(at, zone)
    found = timetable.decide(at)
    if found.until is None:
        return "" if found.open else f"it is closed for more than 400 days{_ADVICE}"
    turn = f"{found.until.astimezone(zone):%a %Y-%m-%d %H:%M} {zone.key}"
    if found.open:
        return f"it is open now and closes {turn}"
    return f"it is closed now and opens {turn}{_ADVICE}"
