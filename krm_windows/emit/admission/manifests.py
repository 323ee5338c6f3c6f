"""What all admission policies have in common.

The objects, the account they are about, and the object under review.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


def account(plan: Plan) -> str:
    """Return the name by which the API server knows the policy's account, as CEL."""
    return cel.text(f"system:serviceaccount:{plan.namespace}:{names.gate(plan)}")


def by_account(plan: Plan) -> dict[str, str]:
    """Return the match condition for requests of the policy's account."""
    return {"name": "gate-account", "expression": f"request.userInfo.username == {account(plan)}"}


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


class Restraint(NamedTuple):
    """An admission policy: the requests it judges (`rules`, `condition`), and what must hold.

    `validations` are expressions, each with its message. What cannot be judged is refused.
    """

    name: str
    rules: list[dict[str, list[str]]]
    condition: dict[str, str]
    variables: list[dict[str, str]]
    validations: list[tuple[str, str]]


def pair(plan: Plan, restraint: Restraint) -> Iterator[Manifest]:
    """Yield an admission policy and its binding."""
    judged = [
        {"expression": words, "message": message, "reason": "Forbidden"}
        for words, message in restraint.validations
    ]
    yield {
        "apiVersion": API_VERSION,
        "kind": POLICY,
        "metadata": cluster_metadata(plan, restraint.name),
        "spec": {
            # Where an expression fails, the request is refused: what is not judged must not pass.
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": restraint.rules},
            "matchConditions": [restraint.condition],
            "variables": restraint.variables,
            "validations": judged,
        },
    }
    yield {
        "apiVersion": API_VERSION,
        "kind": BINDING,
        "metadata": cluster_metadata(plan, restraint.name),
        "spec": {"policyName": restraint.name, "validationActions": ["Deny"]},
    }


def wholes() -> Iterator[dict[str, str]]:
    """Yield the variables of the object before and after the request, empty where none is."""
    # At a creation there is no object before, at a deletion none after.
    for side, given in (("before", "oldObject"), ("after", "object")):
        yield {"name": side, "expression": f"{given} == null ? {cel.NO_MAP} : dyn({given})"}


def parts(path: Path, absent: str = cel.NO_MAP) -> Iterator[dict[str, str]]:
    """Yield the variables that hold a part of the object, before and after.

    Its parent's come first.
    """
    for side in ("before", "after"):
        above = part(side, path[:-1])
        yield {
            "name": variable(side, path),
            "expression": cel.get(above, path[-1], absent),
        }


def variable(side: str, path: Path) -> str:
    """Return the name of the variable for a part of the object `before` or `after` the request."""
    return "_".join((side, *path))


def part(side: str, path: Path) -> str:
    """Return the expression of that variable."""
    return f"variables.{variable(side, path)}"
