"""When the gate last ran, as Jobs and CronJobs say it; a file of them may say anything."""

from datetime import UTC, datetime

import pytest

from krm_windows.status import runs
from krm_windows.status.objects import LiveObject

LABEL = "flux-system.week"
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def job(ended: object, *args: object, kind: str = "Complete") -> LiveObject:
    condition = {"type": kind, "status": "True", "lastTransitionTime": ended}
    container = {"command": ["python3"], "args": list(args)}
    return {
        "kind": "Job",
        "metadata": {"name": "a", "labels": {"krm-windows.dev/policy": LABEL}},
        "spec": {"template": {"spec": {"containers": [container]}}},
        "status": {"conditions": [condition], "lastSuccessfulTime": ended},
    }


@pytest.mark.parametrize(
    "odd", ["", "garbage", "2026-11-21T12:00:00", "2026-11-21", "12:00", 12, None, [], {}]
)
def test_a_time_that_is_none_is_no_run(odd: object) -> None:
    known = job("2026-11-21T12:00:00Z")
    assert runs.last([job(odd)], LABEL) is None
    found = runs.last([job(odd), known], LABEL)
    assert found is not None
    assert found.at == NOON


def test_the_last_run_is_the_newest() -> None:
    failed, done = job("2026-11-21T11:00:00Z", kind="Failed"), job("2026-11-21T12:00:00Z")
    cron_job = {**done, "kind": "CronJob", "status": {"lastSuccessfulTime": "2026-11-21T12:00:00Z"}}
    hook, foreign = (
        {**done, "metadata": {"labels": labels}}
        for labels in (
            {"krm-windows.dev/policy": LABEL, "app.kubernetes.io/component": "hook"},
            {"krm-windows.dev/policy": "shop.week"},
        )
    )
    assert runs.last([failed, cron_job], LABEL) == runs.Run(NOON, succeeded=True, name="CronJob a")
    found = runs.last([failed, hook, foreign], LABEL)
    assert found is not None
    assert found.at < NOON


def test_a_job_that_leaves_its_work_to_the_next_run_proves_nothing() -> None:
    at = "2026-11-21T12:00:00Z"
    assert runs.last([job(at, "gate", "--leave-to-next")], LABEL) is None
    assert runs.last([job(at, "gate", "--note=no --leave-to-next")], LABEL) is not None
    assert runs.last([job(at, "gate")], LABEL) is not None
