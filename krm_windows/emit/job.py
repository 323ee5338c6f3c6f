"""The Job that looks: its Pod runs the gate from the ConfigMap, and passes Pod Security *restricted*."""

import hashlib
import json

from krm_windows.emit import configmap, names
from krm_windows.emit.labels import FORCE, labels, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan

MOUNT = "/gate"
USER = 65532
# Two passes over the targets, each of at most 120 s, the wait for an edge between them, and the start of a Pod.
ACTIVE_DEADLINE_SECONDS = 360
BACKOFF_LIMIT = 2


def now(plan: Plan) -> Manifest:
    """Return the Job that looks as soon as it is applied, named after all that it depends on."""
    spec = job_spec(plan, "--allow-missing")
    content = json.dumps([configmap.config_map(plan), spec], sort_keys=True)
    name = names.now(plan, hashlib.sha256(content.encode()).hexdigest()[:10])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(plan, name, plan.namespace, {FORCE: "enabled"}),
        "spec": spec,
    }


def job_spec(plan: Plan, *flags: str) -> dict[str, object]:
    """Return the Job's spec: it ends by itself, and a node that goes away does not count as a failure."""
    return {
        "activeDeadlineSeconds": ACTIVE_DEADLINE_SECONDS,
        "backoffLimit": BACKOFF_LIMIT,
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "template": {"metadata": {"labels": labels(plan)}, "spec": _pod_spec(plan, flags)},
    }


def _pod_spec(plan: Plan, flags: tuple[str, ...]) -> dict[str, object]:
    secrets = {"imagePullSecrets": [{"name": name} for name in plan.runtime.pull_secrets]}
    return {
        "serviceAccountName": names.gate(plan),
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        **(secrets if plan.runtime.pull_secrets else {}),
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan, flags)],
        "volumes": [{"name": "gate", "configMap": {"name": names.gate(plan), "items": configmap.items()}}],
    }


def _container(plan: Plan, flags: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": "gate",
        "image": plan.runtime.image,
        "imagePullPolicy": plan.runtime.pull_policy,
        "command": ["python3", "-I", MOUNT, *flags],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "gate", "mountPath": MOUNT, "readOnly": True}],
    }
