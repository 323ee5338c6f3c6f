"""What all admission policies have in common.

The objects, the account they are about, and what a request changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_windows import gateable
from krm_windows.emit import names
from krm_windows.emit.admission import cel
from krm_windows.emit.labels import cluster_metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan

API_VERSION = "admissionregistration.k8s.io/v1"
POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"
KINDS = frozenset({POLICY, BINDING})
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


def changes(*paths: Path) -> Iterator[dict[str, str]]:
    """Yield variables of maps of the object, `before` and `after`, and what `changed` in `paths`.

    That is the keys that came, went, or have another value. Parents come first, the object itself
    without being named. To CEL the object is a plain map at run time (k8s.io/apiserver,
    plugin/policy/validating); at a creation there is none before, at a deletion none after.
    """
    maps: set[Path] = set()
    for path in paths:
        maps.update(path[:depth] for depth in range(len(path) + 1))
    for path in sorted(maps):
        for side, given in (("before", "oldObject"), ("after", "object")):
            part = f"{given} == null ? dyn({{}}) : dyn({given})"
            if path:
                part = f"{variable(side, path[:-1])}.?{path[-1]}.orValue({{}})"
            yield {"name": _name(side, path), "expression": part}
        if path in paths:
            yield _changed(path)


def _changed(path: Path) -> dict[str, str]:
    before, after = variable("before", path), variable("after", path)
    gone = f"{before}.filter(key, !(key in {after}) || {after}[key] != {before}[key])"
    fresh = f"{after}.filter(key, !(key in {before}))"
    return {"name": _name("changed", path), "expression": f"{gone} + {fresh}"}


def variable(side: str, path: Path) -> str:
    """Return the expression of a variable of `changes`."""
    return f"variables.{_name(side, path)}"


def _name(side: str, path: Path) -> str:
    return "_".join((side, *path))


@dataclass(frozen=True)
class Restraint:
    """An admission policy: the requests it judges (`rules`, `condition`), and what must hold.

    `validations` are expressions. What cannot be judged is refused.
    """

    name: str
    rules: list[dict[str, list[str]]]
    condition: dict[str, str]
    variables: list[dict[str, str]]
    validations: list[str]
    message: str

    def objects(self, plan: Plan) -> Iterator[Manifest]:
        """Yield the policy and its binding."""
        yield {
            "apiVersion": API_VERSION,
            "kind": POLICY,
            "metadata": cluster_metadata(plan, self.name),
            "spec": {
                # Where an expression fails, the request is refused: what is not judged must not
                # pass.
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": self.rules},
                "matchConditions": [self.condition],
                "variables": self.variables,
                "validations": [
                    {"expression": words, "message": self.message, "reason": "Forbidden"}
                    for words in self.validations
                ],
            },
        }
        yield {
            "apiVersion": API_VERSION,
            "kind": BINDING,
            "metadata": cluster_metadata(plan, self.name),
            "spec": {"policyName": self.name, "validationActions": ["Deny"]},
        }
