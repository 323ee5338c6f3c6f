"""The rights that come with a policy.

What holds its account, who may create that, and whose targets it may name.
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
from krm_windows.flux import Cluster, Gate, Kustomization, Object
from krm_windows.flux.instances import default_account
from krm_windows.flux.model import Finding

_GROUP = "admissionregistration.k8s.io"
_RESOURCES = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
_RBAC = "rbac.authorization.k8s.io"
# By this account kustomize-controller runs, and where it is locked down, Flux' own Kustomizations
# name it.
_CONTROLLER = "kustomize-controller"
# What a FluxInstance is in, itself or as the values of its chart.
_INSTANCES = ("FluxInstance", "HelmRelease")
_DEFAULT_ACCOUNT = "--default-service-account="


def doubtful(gated: GatedCluster, trusted: Collection[str]) -> Iterator[Finding]:
    """Yield what is wrong with the rights of a cluster's policies.

    Policies in the namespaces that are `trusted` may gate targets elsewhere, though they are a
    tenant's.
    """
    tenancy = Tenancy(gated.cluster)
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
    found = set()
    for _, item in gated.applied():
        if item.kind in KINDS and item.note(POLICY) == label:
            found.add(item.kind)
    # A policy without its binding holds nothing.
    return found == KINDS


def _disabled(gate: Gate) -> Finding:
    message = (
        f"nothing limits the account of the policy {gate.policy} to the field that "
        f"suspends: {RISK}; {NARROW}"
    )
    path = ""
    # None: only what was rendered shows it, which has no such field.
    if gate.held is False:
        path = "spec.admissionPolicy"
    return Finding(rules.ADMISSION_DISABLED, message, gate.manifest, path)


def _undelivered(tenancy: "Tenancy", gate: Gate) -> Iterator[Finding]:
    """Yield a warning where the account that applies a policy may not create what holds it."""
    by = tenancy.cluster.kustomizations.get(gate.delivered_by or "")
    account = ""
    if by:
        account = tenancy.account(by)
    # Without an account of its own it is applied by the controller's, which may do everything.
    if by is None or not account or tenancy.may_create(by.namespace, account):
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

    cluster: Cluster

    def reason(self, gate: Gate) -> str:
        """Say why a policy is a tenant's; empty if it is not."""
        # Up from the one that delivers it: what a tenant's Kustomization applies is the tenant's.
        each = self.cluster.kustomizations.get(gate.delivered_by or "")
        while each is not None and each is not self.cluster.first:
            if why := self._reason(each):
                return why
            each = self.cluster.kustomizations.get(each.parent or "")
        if gate.namespace in self._namespaces:
            return f"{gate.namespace} is a tenant's namespace"
        return ""

    @cached_property
    def _namespaces(self) -> frozenset[str]:
        """The namespaces that tenants' Kustomizations are in, or apply to."""
        found: set[str] = set()
        for each in self.cluster.kustomizations.values():
            if not self._reason(each):
                continue
            found.add(each.namespace)
            if each.own:
                found.add(each.own.text("spec", "targetNamespace"))
        # Most have no `targetNamespace`, and the root's is the platform's.
        return frozenset(found - {"", self.cluster.first.namespace})

    def _reason(self, each: Kustomization) -> str:
        """Say why a Kustomization is a tenant's; the root's namespace is the platform's."""
        # Flux, "Multi-tenancy lockdown": tenants have namespaces, accounts and sources of their
        # own.
        home = self.cluster.first.namespace
        if each is self.cluster.first:
            return ""
        if each.namespace != home:
            return f"{each} is in a tenant's namespace"
        account = _account(each)
        if account not in ("", _CONTROLLER):
            return f"{each} is applied as the tenant's service account {account}"
        if each.source is not None and each.source.namespace != home:
            return f"{each} uses a source in the tenant's namespace {each.source.namespace}"
        return ""

    def account(self, each: Kustomization) -> str:
        """Return the account that Flux impersonates to apply a Kustomization; empty for its own.

        With `spec.kubeConfig` it is applied to another cluster, whose rights are not known here.
        """
        if each.own is not None and each.own.get("spec", "kubeConfig") is not None:
            return ""
        return _account(each) or self._default_account

    @cached_property
    def _default_account(self) -> str:
        """The account that kustomize-controller takes where none is named.

        It is known as far as its Deployment is in Git, or the FluxInstance that it is made of.
        """
        every = (item for _, item in self.cluster.objects.values())
        found_instances = (default_account(item) for item in every if item.kind in _INSTANCES)
        if account := next(filter(None, found_instances), ""):
            return account
        namespace = self.cluster.first.namespace
        found = self.cluster.objects.get(("apps", "Deployment", namespace, _CONTROLLER))
        if found is None:
            return ""
        _, deployment = found
        for container in deployment.parts("spec", "template", "spec", "containers"):
            arguments = container.get("args")
            if not isinstance(arguments, list):
                continue
            for argument in arguments:
                if isinstance(argument, str) and argument.startswith(_DEFAULT_ACCOUNT):
                    return argument.removeprefix(_DEFAULT_ACCOUNT)
        return ""

    def may_create(self, namespace: str, account: str) -> bool:
        """Whether a ClusterRoleBinding is known that lets an account create admission policies."""
        # Flux gives its own controller cluster-admin at bootstrap.
        if (namespace, account) == (self.cluster.first.namespace, _CONTROLLER):
            return True
        for _, found in self.cluster.objects.values():
            is_binding = found.kind == "ClusterRoleBinding"
            if is_binding and _binds(found, namespace, account) and self._allows(found):
                return True
        return False

    def _allows(self, binding: Object) -> bool:
        name = binding.text("roleRef", "name")
        # Kubernetes makes it itself, so it is in no repository.
        if name == "cluster-admin":
            return True
        found = self.cluster.objects.get((_RBAC, "ClusterRole", "", name))
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
    own = ("ServiceAccount", namespace, account)
    for subject in binding.parts("subjects"):
        kind = subject.get("kind")
        name = subject.get("name")
        if (kind, subject.get("namespace"), name) == own:
            return True
        if kind == "Group" and name in groups:
            return True
    return False


def _account(each: Kustomization) -> str:
    """Return the account that a Kustomization names."""
    if each.own is None:
        return ""
    return each.own.text("spec", "serviceAccountName")


def _has(rule: object, field: str, value: str) -> bool:
    """Whether a rule of a ClusterRole names a value, or all of them."""
    if not isinstance(rule, dict):
        return False
    found = rule.get(field)
    if not isinstance(found, list):
        return False
    return value in found or "*" in found
