"""The account the gate runs as, and the rights it has: those of the plan, and no others."""

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan, Rights

RBAC = "rbac.authorization.k8s.io"


def service_account(plan: Plan) -> Manifest:
    """Return the ServiceAccount; its token is mounted only where a container asks for it."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(plan, names.gate(plan), plan.namespace),
        "automountServiceAccountToken": False,
    }


def role(plan: Plan, rights: Rights) -> Manifest:
    """Return the Role for one namespace: never `list`, and names wherever they are known."""
    rules: list[dict[str, list[str]]] = []
    for grant in rights.grants:
        rule = {"apiGroups": [grant.group], "resources": [grant.resource]}
        # An empty list would be about all objects as well, and be removed by some tools.
        if grant.names:
            rule["resourceNames"] = list(grant.names)
        rule["verbs"] = list(grant.verbs)
        rules.append(rule)
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(plan, names.role(plan, rights.namespace), rights.namespace),
        "rules": rules,
    }


def role_binding(plan: Plan, rights: Rights) -> Manifest:
    """Return the RoleBinding that gives the Role to the account."""
    name = names.role(plan, rights.namespace)
    # The account is in the policy's namespace, wherever its Roles are.
    account = {"kind": "ServiceAccount", "name": names.gate(plan), "namespace": plan.namespace}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(plan, name, rights.namespace),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [account],
    }
