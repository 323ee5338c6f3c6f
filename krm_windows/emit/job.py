"""The Job: it ends by itself, and its Pod passes Pod Security *restricted*, whatever runs in it."""

from dataclasses import dataclass

from krm_windows.emit import names
from krm_windows.emit.labels import labels
from krm_windows.plan.model import Plan

USER = 65532
# What Pod Security *restricted* wants of a Pod and of a container, with a numeric user and a read-only root besides.
RESTRICTED: dict[str, object] = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
UNPRIVILEGED: dict[str, object] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
BACKOFF_LIMIT = 2


@dataclass(frozen=True, slots=True)
class Pod:
    """What runs in a Job, and how many seconds it may take."""

    containers: list[dict[str, object]]
    deadline: int
    volumes: tuple[dict[str, object], ...] = ()


def job_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    """Return the Job's spec: a node that goes away does not count as a failure."""
    return {
        "activeDeadlineSeconds": pod.deadline,
        "backoffLimit": BACKOFF_LIMIT,
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "template": {"metadata": {"labels": labels(plan)}, "spec": _pod_spec(plan, pod)},
    }


def _pod_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    secrets = {"imagePullSecrets": [{"name": name} for name in plan.runtime.pull_secrets]}
    return {
        "serviceAccountName": names.gate(plan),
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        **(secrets if plan.runtime.pull_secrets else {}),
        "restartPolicy": "Never",
        "securityContext": RESTRICTED,
        "containers": pod.containers,
        **({"volumes": list(pod.volumes)} if pod.volumes else {}),
    }


def container(plan: Plan, name: str, program: dict[str, object]) -> dict[str, object]:
    """Return a container that runs `program`, its `command` and what else belongs to it."""
    return {
        "name": name,
        "image": plan.runtime.image,
        "imagePullPolicy": plan.runtime.pull_policy,
        **program,
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": UNPRIVILEGED,
    }
