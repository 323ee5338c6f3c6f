"""The rights that come with a policy.

What holds its account, and whose targets it may name.
"""

from collections.abc import Collection, Iterator

from krm_windows import rules
from krm_windows.checks.admission import NARROW, RISK
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.emit import names
from krm_windows.emit.admission import KINDS
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Gate, Kustomization
from krm_windows.flux.model import Finding

# By this account kustomize-controller runs, and where it is locked down, Flux' own Kustomizations
# name it.
_CONTROLLER = "kustomize-controller"


def doubtful(gated: GatedCluster, trusted: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with the rights of a cluster's policies.

    Policies in the namespaces that are `trusted` may gate targets elsewhere, though they are a
    tenant's.
    """
    namespaces = _namespaces(gated)
    for gate in gated.cluster.gates:
        if not _is_held(gated, gate):
            message = (
                f"nothing limits the account of the policy {gate.policy} to the field that "
                f"suspends: {RISK}; {NARROW}"
            )
            # None: only what was rendered shows it, which has no such field.
            path = "" if gate.held is None else "spec.admissionPolicy"
            yield Finding(rules.ADMISSION_DISABLED, message, gate.manifest, path)
        # What a tenant's Kustomization applies is the tenant's.
        by = gated.cluster.kustomizations.get(gate.delivered_by or "")
        above = gated.above(by) if by else ()
        is_tenants = gate.namespace in namespaces or any(_is_tenants(gated, one) for one in above)
        if gate.namespace in trusted or not is_tenants:
            continue
        for target in gate.targets:
            if target.namespace != gate.namespace:
                message = (
                    f"must not gate {target} in another namespace, because the policy is a "
                    "tenant's by its namespace, or by the account or source of what delivers it: "
                    "its own `crossNamespaceTargets` is ignored; the cluster's administrator can "
                    f"allow it with `--allow-cross-namespace {gate.namespace}`"
                )
                where = target.namespace
                yield Finding(
                    rules.TARGET_ELSEWHERE, message, gate.manifest, gate.path, current=where
                )


def _is_held(gated: GatedCluster, gate: Gate) -> bool:
    """Whether admission policies come with a policy.

    As it says, or as what was rendered from it shows.
    """
    if gate.held is not None:
        return gate.held
    label = names.label(gate.policy)
    ours = (item for _, item in gated.applied() if item.kind in KINDS)
    # A policy without its binding holds nothing.
    return {item.kind for item in ours if item.note(POLICY) == label} == KINDS


def _namespaces(gated: GatedCluster) -> set[str]:
    """Return the namespaces that tenants' Kustomizations are in, or apply to."""
    every = gated.cluster.kustomizations.values()
    tenants = [each for each in every if _is_tenants(gated, each)]
    found = {each.namespace for each in tenants}
    found.update(each.own.text("spec", "targetNamespace") for each in tenants if each.own)
    # Most have no `targetNamespace`, and the root's is the platform's.
    return found - {"", gated.cluster.first.namespace}


def _is_tenants(gated: GatedCluster, each: Kustomization) -> bool:
    """Whether a Kustomization is a tenant's: Flux applies it by other rights than the root.

    Flux, "Multi-tenancy lockdown": tenants have namespaces, accounts and sources of their own.
    """
    root = gated.cluster.first
    account = each.own.text("spec", "serviceAccountName") if each.own else ""
    source = each.source.namespace if each.source else root.namespace
    is_platforms = account in ("", _CONTROLLER) and {each.namespace, source} == {root.namespace}
    return each is not root and not is_platforms
