"""The rights that come with a policy.

What holds its account, and whose targets it may name.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

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
    tenancy = Tenancy(gated)
    for gate in gated.cluster.gates:
        if not _is_held(gated, gate):
            message = (
                f"nothing limits the account of the policy {gate.policy} to the field that "
                f"suspends: {RISK}; {NARROW}"
            )
            # None: only what was rendered shows it, which has no such field.
            path = "" if gate.held is None else "spec.admissionPolicy"
            yield Finding(rules.ADMISSION_DISABLED, message, gate.manifest, path)
        if gate.namespace not in trusted:
            yield from _elsewhere(tenancy, gate)


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


def _elsewhere(tenancy: "Tenancy", gate: Gate) -> Iterator[Finding]:
    """Yield an error for each target in another namespace, where a tenant says so of itself."""
    reason = tenancy.reason(gate)
    if not reason:
        return
    for target in gate.targets:
        if target.namespace == gate.namespace:
            continue
        message = (
            f"must not gate {target} in another namespace: {reason}, so its own "
            "`crossNamespaceTargets` is ignored; the cluster's administrator can allow it with "
            f"`--allow-cross-namespace {gate.namespace}`"
        )
        yield Finding(
            rules.TARGET_ELSEWHERE,
            message,
            gate.manifest,
            gate.path,
            current=target.namespace,
        )


@dataclass(frozen=True)
class Tenancy:
    """Who is a tenant in a cluster.

    Whose Kustomizations Flux applies by another account, namespace or source.
    """

    gated: GatedCluster

    def reason(self, gate: Gate) -> str:
        """Say why a policy is a tenant's; empty if it is not."""
        # Up from the one that delivers it: what a tenant's Kustomization applies is the tenant's.
        by = self.gated.cluster.kustomizations.get(gate.delivered_by or "")
        for each in self.gated.above(by) if by else ():
            if why := self._reason(each):
                return why
        if gate.namespace in self._namespaces:
            return f"{gate.namespace} is a tenant's namespace"
        return ""

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """The namespaces that tenants' Kustomizations are in, or apply to."""
        tenants = list(filter(self._reason, self.gated.cluster.kustomizations.values()))
        found = {each.namespace for each in tenants}
        found.update(each.own.text("spec", "targetNamespace") for each in tenants if each.own)
        # Most have no `targetNamespace`, and the root's is the platform's.
        return frozenset(found - {"", self.gated.cluster.first.namespace})

    def _reason(self, each: Kustomization) -> str:
        """Say why a Kustomization is a tenant's; the root's namespace is the platform's."""
        # Flux, "Multi-tenancy lockdown": tenants have namespaces, accounts and sources of their
        # own.
        home = self.gated.cluster.first.namespace
        if each is self.gated.cluster.first:
            return ""
        if each.namespace != home:
            return f"{each} is in a tenant's namespace"
        account = each.own.text("spec", "serviceAccountName") if each.own else ""
        if account not in ("", _CONTROLLER):
            return f"{each} is applied as the tenant's service account {account}"
        if each.source is not None and each.source.namespace != home:
            return f"{each} uses a source in the tenant's namespace {each.source.namespace}"
        return ""
