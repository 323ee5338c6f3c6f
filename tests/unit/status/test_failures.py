"""Why no run started.

The cause is found in what Jobs, Pods and Events say, and only in those of the policy.
"""

from datetime import UTC, datetime

import pytest

from krm_windows.status import failures
from krm_windows.status.objects import LiveObject

LABELS = {"krm-windows.dev/policy": "flux-system.week", "app.kubernetes.io/component": "gate"}
POD = "week-resync-29700000-abcde"
LATER = "2026-11-21T12:05:00Z"
NOON = "2026-11-21T12:00:00Z"


def live(kind: str, name: str, **status: object) -> LiveObject:
    """Return an object of the policy."""
    metadata = {
        "name": name,
        "namespace": "flux-system",
        "labels": LABELS,
        "creationTimestamp": NOON,
    }
    return {"kind": kind, "metadata": metadata, "status": status}


def event(
    reason: str, message: str, kind: str = "Job", name: str = "week-resync-29700000", **more: object
) -> LiveObject:
    """Return a warning about an object."""
    about = {"kind": kind, "name": name}
    said = {
        "kind": "Event",
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": NOON,
    }
    return {**said, "metadata": {}, "involvedObject": about, **more}


def newest(*objects: LiveObject, after: datetime | None = None) -> failures.Failure | None:
    """Return the failure of the policy that has one CronJob."""
    return failures.newest(objects, "flux-system.week", ["week-resync"], after)


FORBIDDEN = 'Error creating: pods "week-resync-29700000-x" is forbidden: '
CASES = {
    "quota": event(
        "FailedCreate", f"{FORBIDDEN}failed quota: small: must specify limits.cpu for: gate"
    ),
    "limit range": event(
        "FailedCreate",
        f"{FORBIDDEN}minimum memory usage per Container is 96Mi, but request is 64Mi",
    ),
    "Pod Security": event("FailedCreate", f'{FORBIDDEN}violates PodSecurity "restricted:latest"'),
    "admission": event(
        "FailedCreate", 'Error creating: admission webhook "x.dev" denied the request: no'
    ),
    "account": event("FailedCreate", 'Error creating: serviceaccount "week-gate" not found'),
    "image": live(
        "Pod", POD, containerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]
    ),
    "no node": live(
        "Pod",
        POD,
        conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    ),
    "memory": live(
        "Pod",
        POD,
        containerStatuses=[{"state": {"terminated": {"reason": "OOMKilled", "finishedAt": NOON}}}],
    ),
    "node": live("Pod", POD, reason="Evicted", message="The node was low on resource: memory."),
    "configuration": event("FailedMount", 'configmap "week-gate" not found', "Pod", POD),
    "missed": event(
        "MissSchedule", "Missed scheduled time to start a job", "CronJob", "week-resync"
    ),
    "deadline": live(
        "Job",
        "week-resync-29700000",
        conditions=[
            {
                "type": "Failed",
                "status": "True",
                "reason": "DeadlineExceeded",
                "lastTransitionTime": NOON,
            }
        ],
    ),
}


@pytest.mark.parametrize("cause", CASES)
def test_a_cause(cause: str) -> None:
    """Each is known by whoever saw it, and in its own words."""
    found = newest(CASES[cause])
    assert found
    assert (found.cause, found.at) == (cause, datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert newest(CASES[cause], after=found.at) is None


@pytest.mark.parametrize(
    "foreign",
    [
        event("FailedCreate", "exceeded quota", name="week-resync-2-29700000"),
        event("FailedCreate", "exceeded quota", name="other"),
        event("FailedCreate", "exceeded quota", kind="ReplicaSet", name="week-resync-1"),
        event("SuccessfulCreate", "Created job", type="Normal"),
        {**live("Pod", "other", reason="Evicted"), "metadata": {"name": "other", "labels": {}}},
        event("FailedCreate", "exceeded quota", involvedObject=None),
        live("Pod", POD, containerStatuses="none", conditions=[None, "x"]),
    ],
)
def test_what_is_none_of_ours(foreign: LiveObject) -> None:
    """Another policy's, or no failure, or nothing that an API server writes."""
    assert newest(foreign) is None


def test_what_is_close_to_the_cause_comes_first() -> None:
    """That a Job ran into its deadline is true, and why it did is better to know."""
    found = newest(CASES["deadline"], CASES["image"])
    assert found
    assert found.cause == "image"


@pytest.mark.parametrize(
    "later",
    [
        event(
            "MissingClusterDNS", "the kubelet has no ClusterDNS", "Pod", POD, lastTimestamp=LATER
        ),
        event("DeadlineExceeded", "active longer than specified", lastTimestamp=LATER),
        event("BackoffLimitExceeded", "Job has reached it", lastTimestamp=LATER),
    ],
)
def test_a_cause_that_is_known_outlasts_what_is_said_later(later: LiveObject) -> None:
    """A kubelet warns of other things for as long as a Pod waits, and in the end the Job fails."""
    found = newest(CASES["image"], later)
    assert found
    assert found.cause == "image"
