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
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(plan, names.role(plan, rights.namespace), rights.namespace),
        "rules": [
            {
                "apiGroups": [grant.group],
                "resources": [grant.resource],
                **({"resourceNames": list(grant.names)} if grant.names else {}),
                "verbs": list(grant.verbs),
            }
            for grant in rights.grants
        ],
    }


def role_binding(plan: Plan, rights: Rights) -> Manifest:
    """Return the RoleBinding that gives the Role to the account."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(plan, names.role(plan, rights.namespace), rights.namespace),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": names.role(plan, rights.namespace)},
        "subjects": [
            {"kind": "ServiceAccount", "name": names.gate(plan), "namespace": plan.namespace}
        ],
    }
