"""The Job: it ends by itself, and its Pod passes Pod Security *restricted*, whatever runs in it.

Kubernetes would mount the account's token into every container of a Pod, those included that a
webhook adds. So that is switched off, on the account too, and the containers that ask the API
server mount a token of their own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from krm_windows.emit import names, resources
from krm_windows.emit.labels import labels
from krm_windows.plan.model import Plan

# `nonroot` of distroless images: not root, and no file of a node is its own.
USER = 65532
# What Pod Security *restricted* wants of a Pod and of a container, with a numeric user and a
# read-only root besides.
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
# A Pod that is evicted or drained has not failed (Kubernetes, "Pod failure policy").
_DISRUPTED = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}
FAILURE_POLICY: dict[str, object] = {"rules": [_DISRUPTED]}
BACKOFF_LIMIT = 2
# The largest `backoffLimit`.
_WITHOUT_END = 2**31 - 1
# One thread of Python is never throttled by one processor: a slow start would make an edge late.
# Kubernetes looks for a node by requests, so little is asked for; and no disk, or nothing would be
# closed on a node that is full, or that does not say how much it has (a kubelet with
# `localStorageCapacityIsolation: false`). Unsaid, it would be the limit.
_REQUESTS = {"cpu": "10m", "ephemeral-storage": "0", "memory": "64Mi"}
_LIMITS = {"cpu": "1", "ephemeral-storage": "64Mi", "memory": "128Mi"}
# Where clients in a cluster look for their credentials (client-go, rest.InClusterConfig).
_ACCESS = "api-access"
_ACCESS_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
# The kubelet renews a token after four fifths of its time, and notices within about a minute; a run
# takes what it has read for 120 s. Less time would be cut short, more would only help who has
# stolen it.
_TOKEN_SECONDS = 1200


class Pod(NamedTuple):
    """What runs in a Job, and how many seconds it may take."""

    containers: list[dict[str, object]]
    deadline: int
    volumes: tuple[dict[str, object], ...] = ()


def job_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    """Return the spec of a CronJob's Job: a node that goes away does not count as a failure."""
    # A failure policy takes Pods that never restart (batch/v1), so each try is a Pod of its own.
    return {
        "activeDeadlineSeconds": pod.deadline,
        "backoffLimit": BACKOFF_LIMIT,
        "podFailurePolicy": FAILURE_POLICY,
        "template": _template(plan, pod, "Never"),
    }


def unfailing_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    """Return the spec of a Job that is applied, and never counts as failed (docs/decisions/0028…).

    What has failed stays so: nothing runs such a Job again, and what waits for it is red for good.
    So it has no deadline, and one Pod starts its container again until that has ended well, at last
    every five minutes.
    """
    return {"backoffLimit": _WITHOUT_END, "template": _template(plan, pod, "OnFailure")}


def _template(plan: Plan, pod: Pod, restarts: str) -> dict[str, object]:
    return {"metadata": {"labels": labels(plan)}, "spec": _pod_spec(plan, pod, restarts)}


def _pod_spec(plan: Plan, pod: Pod, restarts: str) -> dict[str, object]:
    spec: dict[str, object] = {
        "serviceAccountName": names.gate(plan),
        "automountServiceAccountToken": False,
        # Else every Service of the namespace is in the environment (core/v1, PodSpec).
        "enableServiceLinks": False,
    }
    if plan.runtime.pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in plan.runtime.pull_secrets]
    spec["restartPolicy"] = restarts
    spec["securityContext"] = RESTRICTED
    spec["containers"] = pod.containers
    spec["volumes"] = [*pod.volumes, _access()]
    return spec


def _access() -> dict[str, object]:
    """Return the volume of a short-lived token and what belongs to it, as Kubernetes mounts it."""
    token = {"path": "token", "expirationSeconds": _TOKEN_SECONDS}
    namespace = {
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }
    certificate = {
        "name": "kube-root-ca.crt",
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
    }
    sources: list[dict[str, object]] = [
        {"serviceAccountToken": token},
        {"configMap": certificate},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": _ACCESS, "projected": {"defaultMode": 0o444, "sources": sources}}


def container(
    plan: Plan,
    name: str,
    program: dict[str, object],
    mounts: Iterable[dict[str, object]] = (),
) -> dict[str, object]:
    """Return a container that runs `program` (its `command` and more) with the account's token."""
    access = {"name": _ACCESS, "mountPath": _ACCESS_PATH, "readOnly": True}
    return {
        "name": name,
        "image": plan.runtime.image,
        "imagePullPolicy": plan.runtime.pull_policy,
        **program,
        "resources": resources.written(plan.runtime.resources, _REQUESTS, _LIMITS),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [*mounts, access],
    }
