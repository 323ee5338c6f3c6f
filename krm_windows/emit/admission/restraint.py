"""What all admission policies have in common.

The objects, the account they are about, and what a request changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from krm_windows import gateable
from krm_windows.emit import names
from krm_windows.emit.admission import cel
from krm_windows.emit.labels import cluster_metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan

# Where an expression fails, the request is refused: what is not judged must not pass.
_OBJECTS = read("""
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicy
  metadata: $metadata
  spec:
    failurePolicy: Fail
    matchConstraints: {resourceRules: $rules}
    matchConditions: [$condition]
    variables: $variables
    validations: $validations
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingAdmissionPolicyBinding
  metadata: $metadata
  spec:
    policyName: $name
    validationActions: [Deny]
""")
KINDS = frozenset(each["kind"] for each in _OBJECTS)
ALL_WRITES = ("CREATE", "UPDATE", "DELETE")
METADATA = ("metadata",)
ANNOTATIONS = ("metadata", "annotations")

Path = tuple[str, ...]
Resource = tuple[str, str]
"""Group and plural."""


def name(plan: Plan, subject: str) -> str:
    """Return the name of the admission policy of a subject.

    That of what a field turns is `names.admission`.
    """
    return f"{names.admission(plan, (gateable.SUSPEND,))}-{subject}"


def by_account(plan: Plan) -> dict[str, str]:
    """Return the match condition for requests of the policy's account."""
    account = cel.text(f"system:serviceaccount:{plan.namespace}:{names.gate(plan)}")
    return {"name": "gate-account", "expression": f"request.userInfo.username == {account}"}


def by_others(plan: Plan) -> dict[str, str]:
    """Return the match condition for requests of everybody else.

    kustomize renames the account by `namePrefix` and `nameSuffix` of a layer above, but no text.
    The renamed one must go on closing, so an account of the policy's namespace counts as the gate's
    if its name contains the gate's.
    """
    user = "request.userInfo.username"
    below = cel.text(f"system:serviceaccount:{plan.namespace}:")
    gates = f"{user}.startsWith({below}) && {user}.contains({cel.text(names.gate(plan))})"
    return {"name": "not-the-gate", "expression": f"!({gates})"}


def rule(resource: Resource, operations: Sequence[str] = ALL_WRITES) -> dict[str, list[str]]:
    """Return a rule for a resource and what lies below it, whatever the objects' names.

    So rights that somebody gives the account by mistake are held too, and no other way leads to the
    object.
    """
    group, plural = resource
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": [plural, f"{plural}/*"],
    }


def changes(*paths: Path) -> dict[str, str]:
    """Return variables of maps of the object, `before` and `after`, and what `changed` in `paths`.

    That is the keys that came, went, or have another value. Parents come first, the object itself
    without being named. To CEL the object is a plain map at run time (k8s.io/apiserver,
    plugin/policy/validating); at a creation there is none before, at a deletion none after.
    """
    maps: set[Path] = set()
    for path in paths:
        maps.update(path[:depth] for depth in range(len(path) + 1))
    found: dict[str, str] = {}
    for path in sorted(maps):
        for side, given in (("before", "oldObject"), ("after", "object")):
            part = f"{given} == null ? dyn({{}}) : dyn({given})"
            if path:
                part = f"{variable(side, path[:-1])}.?{path[-1]}.orValue({{}})"
            found[_name(side, path)] = part
        if path in paths:
            before, after = variable("before", path), variable("after", path)
            found[_name("changed", path)] = (
                f"{before}.filter(key, !(key in {after}) || {after}[key] != {before}[key])"
                f" + {after}.filter(key, !(key in {before}))"
            )
    return found


def variable(side: str, path: Path) -> str:
    """Return the expression of a variable of `changes`."""
    return f"variables.{_name(side, path)}"


def _name(side: str, path: Path) -> str:
    return "_".join((side, *path))


class Restraint(NamedTuple):
    """An admission policy: the requests it judges (`rules`, `condition`), and what must hold.

    `validations` are expressions, `variables` those of what they name.
    """

    name: str
    rules: list[dict[str, list[str]]]
    condition: dict[str, str]
    variables: dict[str, str]
    validations: list[str]
    message: str

    def objects(self, plan: Plan) -> list[Manifest]:
        """Return the policy and its binding."""
        variables = [{"name": name, "expression": words} for name, words in self.variables.items()]
        validations = [
            {"expression": words, "message": self.message, "reason": "Forbidden"}
            for words in self.validations
        ]
        values = {**self._asdict(), "variables": variables, "validations": validations}
        common = cluster_metadata(plan, self.name)
        return [fill(each, metadata=common, **values) for each in _OBJECTS]
