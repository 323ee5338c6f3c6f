"""The admission policy: what RBAC cannot say, that the gate's account may change one field of its targets alone.

It judges requests of this account only. Besides the field the account may write its marks, and the API server
resourceVersion and generation. Whoever patches an object may also write who owns its fields (managedFields), and so
have Flux remove what is not in Git; so no other manager may own more than before. Keys are compared with `in` and `[]`,
as an object is a plain map to CEL at run time (k8s.io/apiserver, plugin/policy/validating), of whatever kind.
"""

from collections.abc import Iterable, Iterator

from krm_windows.emit import names
from krm_windows.emit.labels import cluster_metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.gate.marks import HOOKS, MARKS
from krm_windows.plan.model import Plan

API_VERSION = "admissionregistration.k8s.io/v1"
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"

# Compared on its own, and what the API server writes.
_METADATA = ["annotations", "generation", "managedFields", "resourceVersion"]
_METADATA_PATH, _ANNOTATIONS_PATH = ("metadata",), ("metadata", "annotations")
_MANAGED_PATH = ("metadata", "managedFields")
_MANAGER = "krm-windows"  # of the fields that the gate writes
_WHOSE, _NONE = ("manager", "operation"), "''"  # by what entries of managedFields are told apart
Path = tuple[str, ...]
Resource = tuple[str, str]


def objects(plan: Plan) -> list[Manifest]:
    """Return a policy and its binding for all resources that are turned by the same field."""
    return [
        manifest
        for fields, resources in sorted(_turned(plan).items())
        for manifest in (_policy(plan, fields, resources), _binding(plan, fields))
    ]


def account(plan: Plan) -> str:
    """Return the expression that holds for requests of the policy's account."""
    return f"request.userInfo.username == 'system:serviceaccount:{plan.namespace}:{names.gate(plan)}'"


def _turned(plan: Plan) -> dict[tuple[Path, ...], list[Resource]]:
    """Return the resources by the fields that turn them: one, unless a policy names two for one kind."""
    fields: dict[Resource, set[Path]] = {}
    for target in (*plan.timetable.targets, *plan.timetable.released):
        fields.setdefault((target.group, target.resource), set()).add(target.field)
    resources: dict[tuple[Path, ...], list[Resource]] = {}
    for resource, found in sorted(fields.items()):
        resources.setdefault(tuple(sorted(found)), []).append(resource)
    return resources


def _policy(plan: Plan, fields: tuple[Path, ...], resources: Iterable[Resource]) -> Manifest:
    turned = " and ".join(".".join(field) for field in fields)
    message = f"the gate of {plan.policy} may change nothing here but {turned} and its own annotations"
    steps = _steps(fields)
    paths = (_METADATA_PATH, _ANNOTATIONS_PATH, _MANAGED_PATH, *(path for path in steps if path))
    return {
        "apiVersion": API_VERSION,
        "kind": POLICY,
        "metadata": cluster_metadata(plan, names.admission(plan, fields)),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [_rule(*resource) for resource in resources]},
            "matchConditions": [{"name": "gate-account", "expression": account(plan)}],
            "variables": [*_wholes(), *(variable for path in paths for variable in _parts(path))],
            "validations": [
                {"expression": words, "message": message, "reason": "Forbidden"}
                for words in (*_unchanged(plan, steps), _owners(steps))
            ],
        },
    }


def _binding(plan: Plan, fields: tuple[Path, ...]) -> Manifest:
    name = names.admission(plan, fields)
    return {
        "apiVersion": API_VERSION,
        "kind": BINDING,
        "metadata": cluster_metadata(plan, name),
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _rule(group: str, resource: str) -> dict[str, list[str]]:
    """Return a rule for a resource, whatever the objects' names: rights that are too wide are held, too."""
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": [resource, f"{resource}/*"],
    }


def _steps(fields: Iterable[Path]) -> dict[Path, list[str]]:
    """Return the path of every map above the fields, parents first, with the keys in it that lead to them."""
    steps: dict[Path, set[str]] = {}
    for field in fields:
        for depth, key in enumerate(field):
            steps.setdefault(field[:depth], set()).add(key)
    return {path: sorted(keys) for path, keys in sorted(steps.items())}


def _wholes() -> Iterator[dict[str, str]]:
    """Yield the variables that hold the object before and after the request, empty where there is none."""
    for side, given in (("before", "oldObject"), ("after", "object")):
        yield {"name": side, "expression": f"{given} == null ? dyn({{}}) : dyn({given})"}


def _parts(path: Path) -> Iterator[dict[str, str]]:
    """Yield the variables that hold a map inside of it, before and after."""
    for side in ("before", "after"):
        above, key = f"variables.{_variable(side, path[:-1])}", path[-1]
        yield {"name": _variable(side, path), "expression": _value(above, key)}


def _variable(side: str, path: Path) -> str:
    return "_".join((side, *path))


def _unchanged(plan: Plan, steps: dict[Path, list[str]]) -> Iterator[str]:
    """Yield for each map that its keys are as before, but for those that are compared on their own, or may change."""
    yield _same(_METADATA_PATH, f"key in {_METADATA}")
    # What is released may have notes of hooks that it had.
    ours = [MARKS, *([HOOKS] if plan.hooks or plan.timetable.released else [])]
    yield _same(_ANNOTATIONS_PATH, " || ".join(f"key.startsWith('{prefix}')" for prefix in ours))
    for path, keys in steps.items():
        yield _same(path, f"key in {keys if path else ['metadata', *keys]}")


def _owners(steps: Iterable[Path]) -> str:
    """Hold for each entry of managedFields: it is the gate's, or it owns nothing that its manager did not own before.

    What the account turns, and its marks, leave the entries of their former managers. Where more than ten have changed
    an object, the API server itself joins the oldest (k8s.io/apimachinery, managedfields, capmanagers.go).
    """
    maps = sorted({(), _METADATA_PATH, _ANNOTATIONS_PATH, *steps})
    manager, operation = (_value("entry", key, _NONE) for key in _WHOSE)
    ours = f"{manager} == '{_MANAGER}'"
    joined = f"({manager} == 'ancient-changes' && {operation} == 'Update')"
    same = " && ".join(f"{_value('old', key, _NONE)} == {_value('entry', key, _NONE)}" for key in _WHOSE)
    within = " && ".join(_owned(path, [each[-1] for each in maps if each and each[:-1] == path]) for path in maps)
    before, after = (f"variables.{_variable(side, _MANAGED_PATH)}" for side in ("before", "after"))
    return f"{after}.all(entry, {ours} || {joined} || {before}.exists(old, {same} && {within}))"


def _owned(path: Path, below: Iterable[str]) -> str:
    """Hold for a map of `fieldsV1` in which keys may be missing; the maps `below` it are compared on their own."""
    entry, old = (_fields(side, path) for side in ("entry", "old"))
    compared = f"key in {[f'f:{key}' for key in below]} || {entry}[key] == {old}[key]"
    return f"{entry}.all(key, key in {old} && ({compared}))"


def _fields(entry: str, path: Path) -> str:
    """Return the map of an entry at a path: its keys are the object's behind `f:` (structured-merge-diff, FieldsV1)."""
    if not path:
        return _value(entry, "fieldsV1")
    return _value(_fields(entry, path[:-1]), f"f:{path[-1]}")


def _value(holder: str, key: str, absent: str = "dyn({})") -> str:
    """Return the expression of what a map holds under a key that may be missing."""
    return f"('{key}' in {holder} ? {holder}['{key}'] : {absent})"


def _same(path: Path, but_for: str) -> str:
    before, after = (f"variables.{_variable(side, path)}" for side in ("before", "after"))
    return (
        f"{before}.all(key, {but_for} || key in {after}) && "
        f"{after}.all(key, {but_for} || (key in {before} && {before}[key] == {after}[key]))"
    )
