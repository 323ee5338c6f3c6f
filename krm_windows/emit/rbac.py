"""The account the gate runs as, and the rights it has: those of the plan, and no others."""

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan, Rights

_SERVICE_ACCOUNT = read("""
apiVersion: v1
kind: ServiceAccount
metadata: $metadata
automountServiceAccountToken: false
""")
_ROLE = read("""
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: $metadata
rules: $rules
""")
# An empty list of names would be about all objects as well, and be removed by some tools.
_RULE = read("""
apiGroups: [$group]
resources: [$resource]
resourceNames: $names
verbs: $verbs
""")
# The account is in the policy's namespace, wherever its Roles are.
_ROLE_BINDING = read("""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: $metadata
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: $role}
subjects: [{kind: ServiceAccount, name: $account, namespace: $namespace}]
""")


def service_account(plan: Plan) -> Manifest:
    """Return the ServiceAccount; its token is mounted only where a container asks for it."""
    return fill(_SERVICE_ACCOUNT, metadata=metadata(plan, names.gate(plan), plan.namespace))


def role(plan: Plan, rights: Rights) -> Manifest:
    """Return the Role for one namespace: never `list`, and names wherever they are known."""
    rules = []
    for grant in rights.grants:
        given = {"names": list(grant.names) or None, "verbs": list(grant.verbs)}
        rules.append(fill(_RULE, group=grant.group, resource=grant.resource, **given))
    name = names.role(plan, rights.namespace)
    return fill(_ROLE, metadata=metadata(plan, name, rights.namespace), rules=rules)


def role_binding(plan: Plan, rights: Rights) -> Manifest:
    """Return the RoleBinding that gives the Role to the account."""
    name = names.role(plan, rights.namespace)
    return fill(
        _ROLE_BINDING,
        metadata=metadata(plan, name, rights.namespace),
        role=name,
        account=names.gate(plan),
        namespace=plan.namespace,
    )
