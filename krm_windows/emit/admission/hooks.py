"""The hooks: who may create Jobs may use all accounts and Secrets, so they are held to these.

What a Job has besides what the gate writes has to be what the API server fills in
(k8s.io/kubernetes, pkg/apis/batch/v1 and core/v1, defaults.go), so a field that nobody thought of
is refused and not allowed.
"""

from collections.abc import Iterator, Mapping

from krm_windows.emit import hooks as templates
from krm_windows.emit.admission import cel, manifests
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan
from krm_windows.policy.hooks import Hooks

_TOP = ("apiVersion", "kind", "metadata", "spec", "status")
# Of what the API server writes into metadata; the rest, as owners and finalizers, no Job of a hook
# has.
_METADATA = ("creationTimestamp", "generation", "managedFields", "name", "namespace", "uid")
# What the Job controller labels each Job and its Pods with (batch/v1).
_GENERATED = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
_JOB_DEFAULTS: Mapping[str, object] = {
    "completionMode": "NonIndexed",
    "completions": 1,
    "manualSelector": False,
    "parallelism": 1,
    "podReplacementPolicy": "Failed",
    "suspend": False,
}
_POD_DEFAULTS: Mapping[str, object] = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_CONTAINER_DEFAULTS: Mapping[str, object] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def objects(plan: Plan, hooks: Hooks) -> Iterator[Manifest]:
    """Yield the policy and the binding that hold the Jobs of a plan's account."""
    jobs = templates.jobs(plan, hooks)
    message = f"the gate of {plan.policy} may create only the Jobs of the policy's hooks here"
    is_any = [f"({_is_job(f'variables.hook{index}')})" for index in range(len(jobs))]
    one_of_them = " || ".join(is_any)
    # A variable for each hook: in each expression its text would stand many times.
    wanted = []
    for index, job in enumerate(jobs.items()):
        wanted.append({"name": f"hook{index}", "expression": _wanted(*job)})
    where = f"request.namespace == {cel.text(hooks.namespace)}"
    restraint = manifests.Restraint(
        name=manifests.name(plan, "hooks"),
        rules=[manifests.rule(("batch", "jobs"))],
        condition=manifests.by_account(plan),
        variables=[*manifests.wholes(), *_parts(), *wanted],
        validations=[
            (f"request.operation == 'CREATE' && {where}", message),
            (_shape(), message),
            (one_of_them, message),
        ],
    )
    return manifests.pair(plan, restraint)


def _parts() -> Iterator[dict[str, str]]:
    """Yield the variables that hold the parts of a Job, empty where they are missing."""
    for name, holder, key in (
        ("metadata", "after", "metadata"),
        ("spec", "after", "spec"),
        ("template", "spec", "template"),
        ("template_metadata", "template", "metadata"),
        ("pod", "template", "spec"),
    ):
        yield {"name": name, "expression": cel.get(f"variables.{holder}", key)}
    yield {"name": "containers", "expression": cel.get("variables.pod", "containers", cel.NO_LIST)}


def _shape() -> str:
    """Hold for a Job that has no parts but those that are compared, and one container."""
    return cel.every(
        f"variables.after.all(key, key in {cel.texts(_TOP)})",
        f"variables.metadata.all(key, key in {cel.texts((*_METADATA, 'labels'))})",
        "variables.template.all(key, key in ['metadata', 'spec'])",
        "variables.template_metadata.all(key, key in ['creationTimestamp', 'labels'])",
        "variables.containers.size() == 1",
    )


def _wanted(name: str, job: Mapping[str, object]) -> str:
    """Return what a Job has to say: each part as written, and as the API server fills it in."""
    metadata = _map(job["metadata"])
    spec = _map(job["spec"])
    template = _map(spec["template"])
    pod = _map(template["spec"])
    containers = pod["containers"]
    container = {}
    if isinstance(containers, list):
        container = _map(containers[0])
    # The API server fills in the old name of the field as well (core/v1, `serviceAccount`).
    account = {}
    if "serviceAccountName" in pod:
        account["serviceAccount"] = pod["serviceAccountName"]
    return cel.literal(
        {
            "name": f"{name}-",
            "labels": metadata["labels"],
            "template_labels": _map(template["metadata"])["labels"],
            "spec": _without(spec, "template"),
            "spec_filled": _JOB_DEFAULTS,
            "pod": _without(pod, "containers"),
            "pod_filled": {**_POD_DEFAULTS, **account},
            "container": container,
            "container_filled": _CONTAINER_DEFAULTS,
        }
    )


def _is_job(hook: str) -> str:
    """Hold for the Job of a hook, whose variable is given."""
    labels = cel.get("variables.template_metadata", "labels")
    as_written = f"(key in {hook}.template_labels && {labels}[key] == {hook}.template_labels[key])"
    return cel.every(
        f"{cel.get('variables.metadata', 'name', cel.NOTHING)}.startsWith({hook}.name)",
        f"{cel.get('variables.metadata', 'labels')} == {hook}.labels",
        f"{labels}.all(key, key in {cel.texts(_GENERATED)} || {as_written})",
        f"{hook}.template_labels.all(key, key in {labels})",
        _same("variables.spec", hook, "spec", ("selector", "template")),
        _same("variables.pod", hook, "pod", ("containers",)),
        _same("variables.containers[0]", hook, "container", ()),
    )


def _same(
    found: str,
    hook: str,
    part: str,
    compared_elsewhere: tuple[str, ...],
) -> str:
    """Hold for a part that says all that the hook does, and only what is filled in besides."""
    wanted = f"{hook}.{part}"
    filled = f"{hook}.{part}_filled"
    allowed = [
        f"(key in {wanted} && {found}[key] == {wanted}[key])",
        f"(key in {filled} && {found}[key] == {filled}[key])",
    ]
    if compared_elsewhere:
        allowed.insert(0, f"key in {cel.texts(compared_elsewhere)}")
    return f"{found}.all(key, {' || '.join(allowed)}) && {wanted}.all(key, key in {found})"


def _map(value: object) -> dict[str, object]:
    """Return a part of a manifest that is a map."""
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _without(part: Mapping[str, object], key: str) -> dict[str, object]:
    return {name: value for name, value in part.items() if name != key}
