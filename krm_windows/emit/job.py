"""The Job: it ends by itself, and its Pod passes Pod Security *restricted*, whatever runs in it.

Kubernetes would mount the account's token into every container of a Pod, those included that a
webhook adds. So that is switched off, on the account too, and the containers that ask the API
server mount a token of their own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from krm_windows.emit import names, resources
from krm_windows.emit.labels import labels
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan

# `nonroot` of distroless images: not root, and no file of a node is its own.
USER = 65532
# What Pod Security *restricted* wants of a Pod and of a container, with a numeric user and a
# read-only root besides.
RESTRICTED = read(f"""
runAsNonRoot: true
runAsUser: {USER}
runAsGroup: {USER}
seccompProfile: {{type: RuntimeDefault}}
""")
UNPRIVILEGED = read("""
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
""")
# A Pod that is evicted or drained has not failed (Kubernetes, "Pod failure policy").
FAILURE_POLICY = read("""
rules:
  - action: Ignore
    onPodConditions: [{type: DisruptionTarget, status: "True"}]
""")
BACKOFF_LIMIT = 2
# The largest `backoffLimit`.
_WITHOUT_END = 2**31 - 1
# One thread of Python is never throttled by one processor: a slow start would make an edge late.
# Kubernetes looks for a node by requests, so little is asked for; and no disk, or nothing would be
# closed on a node that is full, or that does not say how much it has (a kubelet with
# `localStorageCapacityIsolation: false`). Unsaid, it would be the limit.
_REQUESTS = {"cpu": "10m", "ephemeral-storage": "0", "memory": "64Mi"}
_LIMITS = {"cpu": "1", "ephemeral-storage": "64Mi", "memory": "128Mi"}
# The kubelet renews a token after four fifths of its time, and notices within about a minute; a run
# takes what it has read for 120 s. Less time would be cut short, more would only help who has
# stolen it. The rest of the volume is as Kubernetes mounts it.
_ACCESS = read("""
name: api-access
projected:
  defaultMode: 0444
  sources:
    - serviceAccountToken: {path: token, expirationSeconds: 1200}
    - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
    - downwardAPI:
        items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]
""")
# Where clients in a cluster look for their credentials (client-go, rest.InClusterConfig).
_MOUNT = read("""
name: api-access
mountPath: /var/run/secrets/kubernetes.io/serviceaccount
readOnly: true
""")
# A failure policy takes Pods that never restart (batch/v1), so each try is a Pod of its own.
_JOB = read(f"""
activeDeadlineSeconds: $deadline
backoffLimit: {BACKOFF_LIMIT}
podFailurePolicy: $failure_policy
template: $template
""")
# Without `enableServiceLinks` every Service of the namespace is in the environment (core/v1).
_POD = read("""
metadata: {labels: $labels}
spec:
  serviceAccountName: $account
  automountServiceAccountToken: false
  enableServiceLinks: false
  imagePullSecrets: $pull_secrets
  restartPolicy: $restarts
  securityContext: $restricted
  containers: $containers
  volumes: $volumes
""")


class Pod(NamedTuple):
    """What runs in a Job, and how many seconds it may take."""

    containers: list[dict[str, object]]
    deadline: int
    volumes: tuple[dict[str, object], ...] = ()


def job_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    """Return the spec of a CronJob's Job: a node that goes away does not count as a failure."""
    return fill(
        _JOB,
        deadline=pod.deadline,
        failure_policy=FAILURE_POLICY,
        template=_template(plan, pod, "Never"),
    )


def unfailing_spec(plan: Plan, pod: Pod) -> dict[str, object]:
    """Return the spec of a Job that is applied, and never counts as failed (docs/decisions/0028…).

    What has failed stays so: nothing runs such a Job again, and what waits for it is red for good.
    So it has no deadline, and one Pod starts its container again until that has ended well, at last
    every five minutes.
    """
    return {"backoffLimit": _WITHOUT_END, "template": _template(plan, pod, "OnFailure")}


def _template(plan: Plan, pod: Pod, restarts: str) -> dict[str, object]:
    return fill(
        _POD,
        labels=labels(plan),
        account=names.gate(plan),
        pull_secrets=[{"name": name} for name in plan.actuator.image_pull_secrets] or None,
        restarts=restarts,
        restricted=RESTRICTED,
        containers=pod.containers,
        volumes=[*pod.volumes, _ACCESS],
    )


def container(
    plan: Plan,
    name: str,
    program: dict[str, object],
    mounts: Iterable[dict[str, object]] = (),
) -> dict[str, object]:
    """Return a container that runs `program` (its `command` and more) with the account's token."""
    return {
        "name": name,
        "image": plan.actuator.runs_on,
        "imagePullPolicy": plan.actuator.image_pull_policy,
        **program,
        "resources": resources.written(plan.actuator.resources, _REQUESTS, _LIMITS),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [*mounts, _MOUNT],
    }
