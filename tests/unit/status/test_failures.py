"""Why no run started, as Jobs, Pods and Events of the policy say it."""

from datetime import UTC, datetime

import pytest

from krm_windows.status import failures
from krm_windows.status.objects import LiveObject

LABELS = {"krm-windows.dev/policy": "flux-system.week", "app.kubernetes.io/component": "gate"}
JOB, POD = "week-resync-29700000", "week-resync-29700000-abcde"
EARLIER, NOON, LATER = (f"2026-11-21T{time}:00Z" for time in ("11:55", "12:00", "12:05"))


def live(kind: str, name: str, **status: object) -> LiveObject:
    metadata = {"name": name, "namespace": "flux-system", "labels": LABELS}
    return {"kind": kind, "metadata": metadata, "status": status}


def event(
    reason: str, message: str, kind: str = "Job", name: str = JOB, **more: object
) -> LiveObject:
    about = {"kind": kind, "name": name}
    said = {"kind": "Event", "type": "Warning", "reason": reason, "message": message}
    return {**said, "lastTimestamp": NOON, "metadata": {}, "involvedObject": about, **more}


def job(name: str, kind: str, at: str, *words: str, **more: object) -> LiveObject:
    """Return a Job that ended; by `--leave-to-next` it always ends well."""
    ended = {"type": kind, "status": "True", "lastTransitionTime": at, **more}
    container = {"name": "gate", "command": ["python3", *words]}
    spec = {"template": {"spec": {"containers": [container]}}}
    return {**live("Job", name, conditions=[ended]), "spec": spec}


def pod(started: str, name: str = POD, log: str = "", **ended: object) -> LiveObject:
    state: dict[str, object] = {"running": {"startedAt": started}}
    if ended:
        state = {"terminated": {"startedAt": started, "message": log, **ended}}
    return live("Pod", name, containerStatuses=[{"state": state}])


def newest(*objects: LiveObject, after: datetime | None = None) -> failures.Failure | None:
    return failures.newest(objects, "flux-system.week", ["week-resync"], after)


FORBIDDEN = 'Error creating: pods "week-resync-29700000-x" is forbidden: '
USAGE = "minimum memory usage per Container is 96Mi, but request is 64Mi"
IMAGE = event("Failed", 'Failed to pull image "x": not found', "Pod", POD)
QUOTA = event("FailedCreate", f"{FORBIDDEN}failed quota: small: must specify limits.cpu")
MOUNT = event("FailedMount", 'configmap "week-gate" not found', "Pod", POD)
CASES = {
    "quota": QUOTA,
    "limit range": event("FailedCreate", f"{FORBIDDEN}{USAGE}"),
    "Pod Security": event("FailedCreate", f'{FORBIDDEN}violates PodSecurity "restricted:latest"'),
    "admission": event("FailedCreate", 'Error creating: admission webhook "x.dev" denied it: no'),
    "account": event("FailedCreate", 'Error creating: serviceaccount "week-gate" not found'),
    "image": IMAGE,
    "no node": event("FailedScheduling", "0/3 nodes are available", "Pod", POD),
    "memory": pod(EARLIER, reason="OOMKilled", finishedAt=NOON),
    "node": event("Evicted", "The node was low on resource: memory.", "Pod", POD),
    "configuration": MOUNT,
    "missed": event("MissSchedule", "Missed scheduled time", "CronJob", "week-resync"),
    "deadline": job(JOB, "Failed", NOON, reason="DeadlineExceeded"),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_cause(cause: str) -> None:
    found = newest(CASES[cause])
    assert found
    assert (found.cause, found.at) == (cause, datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert newest(CASES[cause], after=found.at) is None


@pytest.mark.parametrize(
    "foreign",
    [
        event("FailedCreate", "exceeded quota", name="week-resync-2-29700000"),
        event("FailedCreate", "exceeded quota", name="other"),
        event("FailedCreate", "exceeded quota", kind="ReplicaSet"),
        event("SuccessfulCreate", "Created job", type="Normal"),
        {**live("Pod", "other", reason="Evicted"), "metadata": {"name": "other", "labels": {}}},
        event("FailedCreate", "exceeded quota", involvedObject=None),
        live("Pod", POD, containerStatuses="none", conditions=[None, "x"]),
    ],
)
def test_what_is_none_of_ours(foreign: LiveObject) -> None:
    assert newest(foreign) is None


@pytest.mark.parametrize(
    "other",
    [
        CASES["deadline"],
        event("MissingClusterDNS", "has no ClusterDNS", "Pod", POD, lastTimestamp=LATER),
        event("DeadlineExceeded", "active longer than specified", lastTimestamp=LATER),
        event("BackoffLimitExceeded", "Job has reached it", lastTimestamp=LATER),
    ],
)
def test_a_cause_that_is_known_outlasts_what_else_is_said(other: LiveObject) -> None:
    """A kubelet warns of other things for as long as a Pod waits, and in the end the Job fails."""
    found = newest(CASES["image"], other)
    assert found
    assert found.cause == "image"


# As a run of the gate logs it, for a Role and for an admission policy that do not let it.
DENIED = (
    '{"target": "Kustomization flux-system/apps", "error": "403 to PATCH /apis/kustomize.toolkit.'
    "fluxcd.io/v1/namespaces/flux-system/kustomizations/apps?fieldManager=krm-windows: "
    'kustomizations.kustomize.toolkit.fluxcd.io \\"apps\\" is forbidden: %s"}'
)
BY_RBAC = DENIED % (
    'User \\"system:serviceaccount:flux-system:week-gate\\" cannot patch resource '
    '\\"kustomizations\\" in API group \\"kustomize.toolkit.fluxcd.io\\" in the namespace '
    '\\"flux-system\\"'
)
BY_ADMISSION = DENIED % "ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no"
OTHER_POD = "week-resync-29700015-abcde"
OVER = {
    "the Pod runs": (MOUNT, pod(LATER)),
    "the Pod has ended": (MOUNT, pod(LATER, exitCode=0, finishedAt=LATER)),
    "a later Pod has started": (MOUNT, pod(LATER, OTHER_POD)),
    "there was a quota, and a later Pod has started": (QUOTA, pod(LATER, OTHER_POD)),
    "there was no image, and the Pod has started": (IMAGE, pod(LATER)),
}
WAITING = live("Pod", OTHER_POD, containerStatuses=[{"state": {"waiting": {}}}])
NOT_OVER = {
    "an earlier Pod had started": ("configuration", MOUNT, pod(EARLIER, OTHER_POD)),
    "a later Pod waits": ("configuration", MOUNT, WAITING),
    "a later Job has failed": ("quota", QUOTA, job("week-resync-29700015", "Failed", LATER)),
}


@pytest.mark.parametrize("case", OVER)
def test_what_is_over_is_no_reason(case: str) -> None:
    assert newest(*OVER[case]) is None


@pytest.mark.parametrize("case", NOT_OVER)
def test_what_is_not_over_is_the_reason(case: str) -> None:
    cause, *objects = NOT_OVER[case]
    found = newest(*objects)  # type: ignore[arg-type]  # a cause, then objects
    assert found
    assert found.cause == cause


@pytest.mark.parametrize(("log", "cause"), [(BY_RBAC, "rights"), (BY_ADMISSION, "admission")])
@pytest.mark.parametrize(("code", "end"), [(1, "Failed"), (0, "Complete")])
def test_a_patch_that_is_denied(log: str, cause: str, code: int, end: str) -> None:
    ran = pod(NOON, log=f'{{"open": true}}\nnoise\n[1]\n{log}', exitCode=code, finishedAt=LATER)
    ended = job("week-resync-29700000", end, LATER, "--leave-to-next")
    found = newest(MOUNT, ran, ended)
    assert found
    assert (found.cause, found.by) == (cause, f"Pod {POD}")
    assert found.words.startswith("Kustomization flux-system/apps: 403 to PATCH")


def test_a_denied_patch_of_an_earlier_run_is_over() -> None:
    earlier = pod(EARLIER, OTHER_POD, log=BY_RBAC, exitCode=1, finishedAt=EARLIER)
    assert newest(earlier, pod(NOON, log='{"failed": []}', exitCode=0, finishedAt=LATER)) is None
