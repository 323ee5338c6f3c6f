"""What policies gate.

Targets exist, have one policy, and are never what delivers it or what must stay live.
"""

from collections.abc import Iterator
from contextlib import suppress

from krm_windows import rules
from krm_windows.apply import annotations
from krm_windows.checks.repository.gated import GatedCluster, is_live, is_windows
from krm_windows.flux import Gate, Kustomization, Object, selectors
from krm_windows.flux.model import Finding, Identity, ObjectIdentity
from krm_windows.flux.policies import RELEASED, TARGETS
from krm_windows.gate.annotations import CLOSED_BY
from krm_windows.gate.timetable import Target
from krm_windows.krm import InputError


def misgated(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what is wrong with the policies of a cluster."""
    for gate in gated.cluster.gates:
        yield from _locks(gated, gate)
        yield from _targets(gated, gate)
    yield from _doubled(gated)
    # The gate's annotations and hook notes in Git, on whatever object: what is no target today may
    # be one tomorrow.
    for _, item in gated.applied():
        # What cannot be read is reported where it is built.
        with suppress(InputError):
            found = annotations.paths(item.item) if item.item.mentions(CLOSED_BY) else ()
            for path in found:
                yield Finding(rules.ANNOTATION_IN_GIT, annotations.MESSAGE, item, path)


def _locks(gated: GatedCluster, gate: Gate) -> Iterator[Finding]:
    # The policy may be in the cluster's own directory: then both are the root.
    apart = (each for each in gated.cluster.kustomizations.values() if is_windows(each))
    for each in dict.fromkeys([*gated.chain(gate), *apart]):
        if each.identity in gate.identities:
            message = (
                f"must not gate {each}, which delivers the policy or the cluster's own directory: "
                "while it is closed, no change to the windows would be applied; gate the "
                "Kustomizations that apply your workloads instead"
            )
            yield Finding(rules.SELF_LOCK, message, gate.manifest, gate.path, current=each.key)


def _targets(gated: GatedCluster, gate: Gate) -> Iterator[Finding]:
    chain = gated.chain(gate)
    for target in gate.targets:
        identity = ObjectIdentity.of_target(target)
        # A suspended source has no new artifact, for whoever uses it; what uses one that is closed
        # only now and then may wait for it, too.
        for each in gated.cluster.kustomizations.values():
            if each.source == identity and (each in chain or is_live(each)):
                message = (
                    f"must not gate {target}: {each}, which delivers the policy or must always "
                    f"reconcile, uses it; create a second {target.kind} for the workloads that may "
                    "wait, and gate that one"
                )
                yield Finding(
                    rules.SOURCE_SHARED, message, gate.manifest, gate.path, current=target.name
                )
                break
        found = gated.cluster.objects.get(identity)
        if found is not None:
            yield from _suspended(gate, target, *found)
        # The root may be applied by hand, and then no file of the repository has it.
        elif identity != chain[-1].identity:
            yield _missing(gated, gate, target)


def _suspended(
    gate: Gate, target: Target, parent: Kustomization, item: Object
) -> Iterator[Finding]:
    """Look for the field in Git by which the gate closes a target: its parent brings it back."""
    value = item.get(*target.field)
    # Absent, it is the gate's alone, and so is what the parent leaves alone (`spec.ignore`).
    field = f"/{'/'.join(target.field)}"
    ignored = parent.own.parts("spec", "ignore") if parent.own else ()
    # The first rule that selects the object decides.
    rule = next((each for each in ignored if selectors.selects(each.get("target"), item)), {})
    paths = rule.get("paths")
    if value is None or (isinstance(paths, list) and field in paths):
        return
    does = "open it again while the window is closed"
    fix = "remove it"
    if value is not False:
        does = "close it again, and no window opens what the gate has not closed"
        fix = (
            "remove it, or, if only its first apply is to wait for a window, set `firstApply: "
            "Wait` in the policy"
        )
    message = (
        f"must not be set in Git on a target of the policy {gate.policy}: at the next reconcile "
        f"its parent {parent} would {does}; {fix}, or list it in the parent's `spec.ignore`: "
        f"{field} (Flux 2.9)"
    )
    path = ".".join(target.field)
    yield Finding(rules.TARGET_SUSPEND, message, item, path, current=str(value).lower())


def _missing(gated: GatedCluster, gate: Gate, target: Target) -> Finding:
    own = ObjectIdentity.of_target(target)
    rule = rules.TARGET_UNSEEN
    message = f"{target} was not found; it may be in a part that could not be read"
    # Where all that is applied is known, what is not there is missing for certain.
    if gated.cluster.complete:
        rule = rules.TARGET_MISSING
        message = f"{target} not found: nothing applied to the cluster contains it"
    elsewhere = [
        namespace
        for group, kind, namespace, name in gated.cluster.objects
        if (group, kind, name) == (own.group, own.kind, own.name)
    ]
    if any(elsewhere):
        message += f"; it exists in {', '.join(sorted(filter(None, elsewhere)))}: set `namespace`"
    elif elsewhere:
        message += "; it exists without a namespace: set `metadata.namespace` there"
    return Finding(rule, message, gate.manifest, gate.path, current=target.name)


def _doubled(gated: GatedCluster) -> Iterator[Finding]:
    # The first policy that gates each target; two entries of one policy are no two policies.
    owners: dict[Identity, str] = {}
    for gate in gated.cluster.gates:
        for key in gate.identities:
            owners.setdefault(key, gate.policy)
    for gate in gated.cluster.gates:
        released = RELEASED if gate.path == TARGETS else gate.path
        gates = "remove it from all but one of them"
        opens = "remove it from `released`, or it may be opened while it should be closed"
        for targets, path, must in (
            (gate.targets, gate.path, gates),
            (gate.released, released, opens),
        ):
            for target in targets:
                other = owners.get(ObjectIdentity.of_target(target), gate.policy)
                if other != gate.policy:
                    message = f"{target} is also gated by the policy {other}; {must}"
                    yield Finding(
                        rules.TWO_POLICIES, message, gate.manifest, path, current=target.name
                    )
