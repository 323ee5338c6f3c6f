"""The rights that come with a policy.

What holds its account, who may create that, and whose targets it may name.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from krm_windows import rules
from krm_windows.checks.admission import NARROW, RISK
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.emit import names
from krm_windows.emit.admission import KINDS
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Gate, Kustomization, Object
from krm_windows.flux.model import Finding

_GROUP = "admissionregistration.k8s.io"
_RESOURCES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
_RBAC = "rbac.authorization.k8s.io"
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
        if _is_held(gated, gate):
            yield from _undelivered(tenancy, gate)
        else:
            yield _disabled(gate)
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


def _disabled(gate: Gate) -> Finding:
    message = (
        f"nothing limits the account of the policy {gate.policy} to the field that "
        f"suspends: {RISK}; {NARROW}"
    )
    # None: only what was rendered shows it, which has no such field.
    path = "" if gate.held is None else "spec.admissionPolicy"
    return Finding(rules.ADMISSION_DISABLED, message, gate.manifest, path)


def _undelivered(tenancy: "Tenancy", gate: Gate) -> Iterator[Finding]:
    """Yield a warning where the account that applies a policy may not create what holds it."""
    by = tenancy.gated.cluster.kustomizations.get(gate.delivered_by or "")
    # Of another cluster the rights are not known here.
    if by is None or by.remote:
        return
    account = _account(by)
    # Without an account of its own it is applied by the controller's, which may do everything.
    if not account or tenancy.may_create(by.namespace, account):
        return
    message = (
        f"{by} delivers it as the service account {by.namespace}/{account}, and no role that "
        f"was found lets this account create {' and '.join(_RESOURCES)} of {_GROUP}, so none of "
        "it would be applied; grant that, deliver it with a Kustomization of the platform team, "
        "or set `admissionPolicy: Disabled`"
    )
    yield Finding(rules.ADMISSION_UNDELIVERED, message, gate.manifest)


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
        account = _account(each)
        if account not in ("", _CONTROLLER):
            return f"{each} is applied as the tenant's service account {account}"
        if each.source is not None and each.source.namespace != home:
            return f"{each} uses a source in the tenant's namespace {each.source.namespace}"
        return ""

    def may_create(self, namespace: str, account: str) -> bool:
        """Whether a ClusterRoleBinding is known that lets an account create admission policies."""
        # Flux gives its own controller cluster-admin at bootstrap.
        if (namespace, account) == (self.gated.cluster.first.namespace, _CONTROLLER):
            return True
        for _, found in self.gated.cluster.objects.values():
            is_binding = found.kind == "ClusterRoleBinding"
            if is_binding and _binds(found, namespace, account) and self._allows(found):
                return True
        return False

    def _allows(self, binding: Object) -> bool:
        name = binding.text("roleRef", "name")
        # Kubernetes makes it itself, so it is in no repository.
        if name == "cluster-admin":
            return True
        found = self.gated.cluster.objects.get((_RBAC, "ClusterRole", "", name))
        if found is None:
            return False
        missing = set(_RESOURCES)
        for rule in found[1].parts("rules"):
            # One rule must allow group, verb and resource together (RBAC); several rules add up.
            if not _has(rule, "apiGroups", _GROUP) or not _has(rule, "verbs", "create"):
                continue
            missing -= {each for each in missing if _has(rule, "resources", each)}
        return not missing


def _binds(binding: Object, namespace: str, account: str) -> bool:
    """Whether a binding is about an account, by its name or by a group that it is in."""
    # Kubernetes, "Authenticating": every ServiceAccount is in these.
    groups = (
        "system:serviceaccounts",
        f"system:serviceaccounts:{namespace}",
        "system:authenticated",
    )
    bound: set[tuple[object, ...]] = {("Group", None, group) for group in groups}
    bound.add(("ServiceAccount", namespace, account))
    subjects = [
        (each.get("kind"), each.get("namespace"), each.get("name"))
        for each in binding.parts("subjects")
    ]
    return not bound.isdisjoint(subjects)


def _account(each: Kustomization) -> str:
    """Return the account that a Kustomization names."""
    return each.own.text("spec", "serviceAccountName") if each.own else ""


def _has(rule: Mapping[str, object], field: str, value: str) -> bool:
    """Whether a rule of a ClusterRole names a value, or all of them."""
    found = rule.get(field)
    return isinstance(found, list) and not {value, "*"}.isdisjoint(map(str, found))
