"""What policies gate.

Targets exist, have one policy, and are never what delivers it or what must stay live.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from krm_windows import rules
from krm_windows.apply import annotations
from krm_windows.checks.repository.gated import GatedCluster, is_live, is_windows
from krm_windows.flux import Gate, Kustomization, Object, selectors
from krm_windows.flux.model import Finding, Identity, ObjectIdentity
from krm_windows.flux.policies import RELEASED, TARGETS
from krm_windows.gate.timetable import Target
from krm_windows.krm import InputError
from krm_windows.policy.findings import closest


def misgated(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what is wrong with the policies of a cluster."""
    for gate in gated.cluster.gates:
        yield from _locks(gated, gate)
        yield from _sources(gated, gate)
        yield from _targets(gated, gate)
    yield from _doubled(gated)
    yield from _marked(gated)


def _marked(gated: GatedCluster) -> Iterator[Finding]:
    """Look for the gate's annotations and hook notes in Git, on whatever object.

    What is no target today may be one tomorrow.
    """
    for _, item in gated.applied():
        # What cannot be read is reported where it is built.
        with suppress(InputError):
            for path in annotations.paths(item.item):
                yield Finding(rules.ANNOTATION_IN_GIT, annotations.MESSAGE, item, path)


def _locks(gated: GatedCluster, gate: Gate) -> Iterator[Finding]:
    # The policy may be in the cluster's own directory: then both are the root.
    apart = (each for each in gated.cluster.kustomizations.values() if is_windows(each))
    for each in dict.fromkeys([*gated.chain(gate), *apart]):
        if each.identity not in gate.identities:
            continue
        does = "delivers the cluster's own directory"
        if each.key == gate.delivered_by or is_windows(each):
            does = "delivers the policy"
        message = (
            f"must not gate {each}, which {does}: while it is closed, no change to the windows "
            "would be applied; gate the Kustomizations that apply your workloads instead"
        )
        yield Finding(rules.SELF_LOCK, message, gate.manifest, gate.path, current=each.key)


def _sources(gated: GatedCluster, gate: Gate) -> Iterator[Finding]:
    # A suspended source has no new artifact, for whoever uses it.
    for target in gate.targets:
        reason = _needed(gated, gate, target)
        if reason:
            message = (
                f"must not gate {target}: {reason}; create a second {target.kind} for the "
                "workloads that may wait, and gate that one"
            )
            yield Finding(
                rules.SOURCE_SHARED, message, gate.manifest, gate.path, current=target.name
            )


def _needed(gated: GatedCluster, gate: Gate, target: Target) -> str:
    """Say which Kustomization may not lose a target as its source; empty where none is."""
    chain = gated.chain(gate)
    kustomizations = gated.cluster.kustomizations.values()
    own = ObjectIdentity.of_target(target)
    users = [each for each in kustomizations if each.source == own]
    for each in chain:
        if each in users:
            # What uses a source that is closed only now and then may wait for it, too.
            return f"{each}, which delivers the policy, uses it"
    for each in users:
        if is_live(each):
            return f"{each}, which must always reconcile, uses it"
    return ""


def _targets(gated: GatedCluster, gate: Gate) -> Iterator[Finding]:
    # The root may be applied by hand, and then no file of the repository has it.
    root = gated.chain(gate)[-1].key
    for target in gate.targets:
        found = gated.cluster.objects.get(ObjectIdentity.of_target(target))
        if found is not None:
            yield from _suspended(gate, target, *found)
            continue
        is_root = (target.kind, f"{target.namespace}/{target.name}") == ("Kustomization", root)
        if not is_root:
            yield _missing(gated, gate, target)


def _suspended(
    gate: Gate,
    target: Target,
    parent: Kustomization,
    item: Object,
) -> Iterator[Finding]:
    """Look for the field in Git by which the gate closes a target.

    Its parent would bring it back.
    """
    value = item.get(*target.field)
    # Absent, it is the gate's alone, and so is what the parent leaves alone.
    field = "/".join(target.field)
    if value is None or _is_ignored(parent, item, field):
        return
    path = ".".join(target.field)
    if value is False:
        message = (
            f"must not be set in Git on a target of the policy {gate.policy}: its parent {parent} "
            "would open it again while the window is closed at the next reconcile; remove it, or "
            f"list it in the parent's `spec.ignore`: /{field} (Flux 2.9)"
        )
    else:
        message = (
            f"must not be true in Git on a target of the policy {gate.policy}: no window would "
            f"open it, as the gate opens only what it has closed, and its parent {parent} would "
            "close it again at the next reconcile; remove it, or, if only its first apply is to "
            "wait for a window, set `firstApply: Wait` in the policy and list it in the parent's "
            f"`spec.ignore`: /{field} (Flux 2.9)"
        )
    yield Finding(rules.TARGET_SUSPEND, message, item, path, current=str(value).lower())


def _is_ignored(parent: Kustomization, item: Object, field: str) -> bool:
    """Whether a parent leaves a field alone (`spec.ignore`, Flux 2.9)."""
    if parent.own is None:
        return False
    for rule in parent.own.parts("spec", "ignore"):
        # The first rule that selects the object decides.
        if selectors.selects(rule.get("target"), item):
            paths = rule.get("paths")
            return isinstance(paths, list) and f"/{field}" in paths
    return False


def _missing(gated: GatedCluster, gate: Gate, target: Target) -> Finding:
    cluster = gated.cluster
    # The names of its kind beside it that are no targets yet, and the namespaces in which its name
    # is.
    alike: list[str] = []
    elsewhere: list[str] = []
    for group, kind, namespace, name in cluster.objects:
        beside = (group, kind, namespace) == (target.group, target.kind, target.namespace)
        if beside and (group, kind, namespace, name) not in gate.identities:
            alike.append(name)
        if (group, kind, name) == (target.group, target.kind, target.name):
            elsewhere.append(namespace)
    near = closest(target.name, alike)
    rule = rules.TARGET_UNSEEN
    message = f"{target} was not found; it may be in a part that could not be read"
    # Where all that is applied is known, what is not there is missing for certain.
    if cluster.complete:
        rule = rules.TARGET_MISSING
        message = f"{target} not found: nothing applied to the cluster contains it"
    namespaces = sorted(filter(None, elsewhere))
    if namespaces:
        message += f"; it exists in {', '.join(namespaces)}: set `namespace`"
    elif elsewhere:
        message += "; it exists without a namespace: set `metadata.namespace` there"
    elif near:
        message += f'; did you mean "{near}"?'
    return Finding(rule, message, gate.manifest, gate.path, current=target.name, proposed=near)


def _doubled(gated: GatedCluster) -> Iterator[Finding]:
    # The first policy that gates each target.
    owners: dict[Identity, Gate] = {}
    for gate in gated.cluster.gates:
        must = "remove it from all but one of them"
        yield from _also_gated(gate, gate.targets, owners, gate.path, must)
        # Only now, so that two entries of one policy are no two policies.
        for key in gate.identities:
            owners.setdefault(key, gate)
    for gate in gated.cluster.gates:
        path = RELEASED if gate.path == TARGETS else gate.path
        must = "remove it from `released`, or it may be opened while it should be closed"
        yield from _also_gated(gate, gate.released, owners, path, must)


def _also_gated(
    gate: Gate,
    targets: Iterable[Target],
    owners: Mapping[Identity, Gate],
    path: str,
    must: str,
) -> Iterator[Finding]:
    for target in targets:
        other = owners.get(ObjectIdentity.of_target(target))
        if other is None or other.policy == gate.policy:
            continue
        message = f"{target} is also gated by the policy {other.policy}; {must}"
        yield Finding(rules.TWO_POLICIES, message, gate.manifest, path, current=target.name)
