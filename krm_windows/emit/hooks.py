"""The hooks as the gate reads them: the Jobs that it creates, whole but for their names.

What the API server would fill in is written out (k8s.io/kubernetes, pkg/apis/batch/v1 and core/v1,
defaults.go), so that `admission.hooks` can compare what is created as a whole; except for
`podReplacementPolicy`, which Kubernetes has from 1.28 on.
"""

from math import ceil

from krm_windows.emit import names, resources
from krm_windows.emit.job import FAILURE_POLICY, RESTRICTED, UNPRIVILEGED
from krm_windows.emit.labels import COMPONENT, HOOK, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.gate.timetable import run_seconds
from krm_windows.plan.model import Plan
from krm_windows.plan.rights import note as note_name
from krm_windows.policy.hooks import AfterApply, BeforeOpen, Hook, Hooks

# How the gate names a hook, and what the names of its Jobs say.
_SLUGS = {
    "beforeOpen": "before-open",
    "beforeOpen.rollback": "rollback",
    "afterApply": "after-apply",
    "afterApply.rollback": "after-apply-rollback",
    "afterClose": "after-close",
}
_NAMES = {"beforeOpen.rollback": "rollback"}
# What the gate gives the Job controller to end a Job beyond its time.
_GRACE_SECONDS = 60
_REQUESTS = {"cpu": "10m", "ephemeral-storage": "0", "memory": "64Mi"}
_LIMITS = {"cpu": "1", "ephemeral-storage": "256Mi", "memory": "256Mi"}
# Kept for a day, for somebody to read its log.
_JOB = read("""
activeDeadlineSeconds: $deadline
backoffLimit: 0
completionMode: NonIndexed
completions: 1
manualSelector: false
parallelism: 1
podFailurePolicy: $failure_policy
suspend: false
ttlSecondsAfterFinished: 86400
""")
# The API server fills in the account under the field's old name, too. What a hook leaves to its
# image is left out. It may write to one place alone: of its limit its log has the rest.
_POD = read("""
serviceAccountName: $account
serviceAccount: $account
automountServiceAccountToken: $has_account
dnsPolicy: ClusterFirst
enableServiceLinks: false
restartPolicy: Never
schedulerName: default-scheduler
terminationGracePeriodSeconds: 10
securityContext: $restricted
containers:
  - name: hook
    image: $image
    imagePullPolicy: IfNotPresent
    command: $command
    args: $args
    env: $env
    resources: $resources
    securityContext: $unprivileged
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    volumeMounts: [{name: tmp, mountPath: /tmp}]
volumes:
  - name: tmp
    emptyDir: {sizeLimit: 192Mi}
""")


def dump(plan: Plan, hooks: Hooks) -> dict[str, object]:
    """Return the hooks' JSON form, which `gate.hooks` reads."""
    found = {}
    for path, hook in hooks.each():
        found[_NAMES.get(path, path)] = _hook(plan, path, hook)
    return {"namespace": hooks.namespace, "note": note_name(plan.name), "hooks": found}


def note(plan: Plan) -> Manifest:
    """Return the ConfigMap in which the gate notes how far the hooks are; what is in it is its."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(plan, note_name(plan.name), plan.namespace),
    }


def jobs(plan: Plan, hooks: Hooks) -> list[dict[str, object]]:
    """Return for each hook what the names of its Jobs begin with, their spec, and their Pod's."""
    return [
        {"name": f"{names.hook(plan, _SLUGS[path])}-", "spec": _job(hook), "pod": _pod(hook)}
        for path, hook in hooks.each()
    ]


def longest_seconds(hooks: Hooks, targets: int) -> int:
    """Return how long one run may take for its hooks.

    Those after the last occurrence, then those before the next. For each, the targets are read and
    noted on: that is given half as long as a run.
    """
    around = _GRACE_SECONDS + ceil(run_seconds(targets) / 2)
    every = [hook for _, hook in hooks.each()]
    # Once for targets to calm down, once for the Job.
    every += filter(None, (hooks.after_apply, hooks.after_close))
    return sum(_seconds(hook) + around for hook in every)


def _seconds(hook: Hook) -> int:
    return int(hook.timeout.total_seconds())


def _hook(plan: Plan, path: str, hook: Hook) -> dict[str, object]:
    return {
        "name": names.hook(plan, _SLUGS[path]),
        "seconds": _seconds(hook),
        "aborts": _aborts(hook),
        # The gate gives the Job its name.
        "metadata": {"labels": job_labels(plan)},
        "spec": {
            **_job(hook),
            "template": {"metadata": {"labels": job_labels(plan)}, "spec": _pod(hook)},
        },
    }


def _aborts(hook: Hook) -> bool:
    """Say whether a failure keeps the targets closed, or closes them."""
    if isinstance(hook, BeforeOpen):
        return hook.on_failure == "Abort"
    return isinstance(hook, AfterApply) and hook.on_failure == "Close"


def job_labels(plan: Plan) -> dict[str, str]:
    """Return the labels of a hook's Job and of its Pods."""
    return {**labels(plan), COMPONENT: HOOK}


def _job(hook: Hook) -> dict[str, object]:
    """Return a Job's spec: one try (a drained node is none), and gone after a day."""
    return fill(_JOB, deadline=_seconds(hook), failure_policy=FAILURE_POLICY)


def _pod(hook: Hook) -> dict[str, object]:
    """Return its Pod's: without an account of its own a hook has no rights, and no token."""
    account = hook.service_account_name
    return fill(
        _POD,
        account=account,
        has_account=account is not None,
        restricted=RESTRICTED,
        image=hook.image,
        command=list(hook.command) or None,
        args=list(hook.args) or None,
        env=[each.model_dump(by_alias=True, exclude_none=True) for each in hook.env] or None,
        resources=resources.written(hook.resources, _REQUESTS, _LIMITS),
        unprivileged=UNPRIVILEGED,
    )
