"""The order of Kustomizations.

What depends on what, and what delivers what, where they change at different times.
"""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.checks.repository.gated import HOW_TO_GATE, GatedCluster, described, is_live
from krm_windows.flux import Kustomization
from krm_windows.flux.model import Finding


def inverted(gated: GatedCluster) -> Iterator[Finding]:
    """Yield the inverted dependencies of a cluster, and live children of closed parents."""
    for each in gated.cluster.kustomizations.values():
        delivered = [gate for gate in gated.cluster.gates if gate.delivered_by == each.key]
        for index, key in enumerate(each.depends_on):
            dependency = gated.cluster.kustomizations.get(key)
            # What delivers a policy must not wait for what that gates: said of the delivery.
            if dependency is None or any(dependency.identity in g.identities for g in delivered):
                continue
            yield from _dependency(gated, each, dependency, f"spec.dependsOn[{index}]")
        # What delivers a policy has to be live.
        if not delivered:
            yield from _child(gated, each)


def _dependency(
    gated: GatedCluster,
    each: Kustomization,
    dependency: Kustomization,
    path: str,
) -> Iterator[Finding]:
    """Judge one dependency.

    A Kustomization of the same source waits for the revision (kustomize-controller).
    """
    # What both wait for opens for both at once.
    extra = gated.holds(dependency) - gated.holds(each)
    if not extra:
        return
    advice = "remove the dependency"
    # What delivers windows must not wait for them.
    if each.own is not None and not gated.delivers(each):
        advice = f"gate both {HOW_TO_GATE}, or {advice}"
    if dependency.source == each.source and gated.suspends(dependency) & extra:
        message = (
            f"{dependency} changes {described(extra)} and has the same source: after the next "
            'commit this one fails with "dependency revision is not up to date" until that one '
            f"opens; {advice}"
        )
        yield Finding(rules.DEPENDS_BLOCKED, message, each.own, path, current=dependency.key)
    elif not gated.holds(each):
        message = (
            f"{dependency} changes {described(extra)}, and this one does not wait for it: it "
            f"may run against an older version of its dependency; {advice}"
        )
        yield Finding(rules.DEPENDS_STALE, message, each.own, path, current=dependency.key)


def _child(gated: GatedCluster, each: Kustomization) -> Iterator[Finding]:
    parent = gated.cluster.kustomizations.get(each.parent or "")
    # What gates the root locks itself out, which is reported about the policy.
    if parent is None or parent is gated.cluster.first:
        return
    # It waits as well, or is meant to stay live.
    if gated.holds(each) or is_live(each):
        return
    held = gated.holds(parent)
    if held and each.own is not None:
        message = (
            f"keeps applying new revisions while {parent}, which delivers it, is closed: "
            f"{parent} changes {described(held)}; gate this one too {HOW_TO_GATE}, or "
            "mark it as intended with `krm-windows.dev/change-class: live`"
        )
        yield Finding(rules.CHILD_LIVE, message, each.own, "spec")
