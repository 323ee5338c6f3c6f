"""The alerts: Prometheus rules on what kube-state-metrics says of the policy's CronJobs and Jobs.

PromQL knows no time zones, so no rule works out when a window is open. The gate does: its Job
succeeds only where every target is as it should be (but for those left to a person). So a target
that is not as it should be, and a cluster in which nothing runs, are the same to see: no run has
succeeded. Metrics: kube-state-metrics, docs/metrics/workload.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta

from krm_windows.emit import gate, names, state_metrics
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.escape.prometheus import pattern, template, text
from krm_windows.gate.annotations import APART, CAUSE, Cause
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import LAST_DAY
from krm_windows.plan.triggers import Edge, Trigger

_HALF_A_YEAR = timedelta(days=183)
# Series that Prometheus works out once for all alerts; colons are for such names (Prometheus,
# "Recording rules").
_SUCCESS = "krm_windows:last_successful_run:timestamp_seconds"
_FAILURE = "krm_windows:last_failed_run:timestamp_seconds"
# An alert for each sort of edge: its name, and what it says.
_EDGES = {
    Edge.OPENING: (
        "KrmWindowsNotOpened",
        "a window of {policy} opened, but no run has succeeded since",
    ),
    Edge.CLOSING: (
        "KrmWindowsNotClosed",
        "a window of {policy} closed, but no run has succeeded since",
    ),
    # One of the triggers in UTC may be an hour beside the edge (ADR 24).
    Edge.EITHER: (
        "KrmWindowsEdgeMissed",
        (
            "a window, freeze or override of {policy} may have begun or ended, but no run has "
            "succeeded since"
        ),
    ),
}
# The labels of a target's series; `namespace` is that of kube-state-metrics itself.
_KINDS = "customresource_group, customresource_kind, target_namespace, target_name"
Rule = dict[str, object]


def objects(plan: Plan) -> list[Manifest]:
    """Return the PrometheusRule."""
    group = {
        "name": f"krm-windows.{names.policy_label(plan)}",
        "rules": list(_rules(plan)),
    }
    return [
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": metadata(plan, names.gate(plan), plan.namespace),
            "spec": {"groups": [group]},
        }
    ]


def _rules(plan: Plan) -> Iterator[Rule]:
    jobs = f"namespace={text(plan.namespace)},job_name=~{text(_jobs(plan))}"
    failed = f'kube_job_failed{{{jobs},condition="true"}} == 1'
    succeeded = f"kube_cronjob_status_last_successful_time{_cron_jobs(plan, plan.triggers)}"
    yield _record(plan, _SUCCESS, succeeded)
    yield _record(
        plan,
        _FAILURE,
        f"kube_job_status_start_time{{{jobs}}} and on (namespace, job_name) {failed}",
    )
    # `Kubectl` runs at edges alone, so a long time without a run is no fault.
    if plan.runs_gate:
        yield from _of_gate(plan)
    # A Job has failed that began after the last run that succeeded.
    yield _alert(
        plan,
        "KrmWindowsGateFailing",
        f"{_recorded(plan, _FAILURE)} unless on (namespace) "
        f"({_recorded(plan, _SUCCESS)} > on (namespace) {_recorded(plan, _FAILURE)})",
        "a Job of {policy} failed, and none has succeeded since: see its log for the targets",
    )
    yield from _edges(plan)
    # What is reported about targets needs their series, which are an extra of their own.
    if plan.runs_gate and state_metrics.kinds(plan) and "StateMetrics" in plan.extras:
        yield from _of_targets(plan)


def _record(plan: Plan, name: str, expression: str) -> Rule:
    return {
        "record": name,
        "labels": {"policy": plan.policy},
        "expr": f"max by (namespace) ({expression})",
    }


def _of_gate(plan: Plan) -> Iterator[Rule]:
    """Yield the alerts that no run succeeds, and that the table ends.

    An edit, which the end of the apply Job shows, begins the time of two intervals anew: it may
    have made the interval shorter. It is no success, as that Job does not fail
    (docs/decisions/0028-the-apply-job-does-not-fail).
    """
    seconds = int((2 * plan.interval).total_seconds())
    at_once = text(f"{pattern(names.apply_job_prefix(plan))}[0-9a-f]+")
    edited = (
        f"kube_job_status_completion_time{{namespace={text(plan.namespace)},job_name=~{at_once}}}"
    )
    yield _alert(
        plan,
        "KrmWindowsNoSuccessfulRun",
        f"time() - max by (namespace) ({_succeeded(plan)} or {edited}) > {seconds}",
        "no run of {policy} has succeeded for two intervals: a target is not in the desired "
        "state, or no Job runs",
        # Not before a run may have ended that began just in time.
        gate.deadline(plan),
    )
    # Nothing is opened any more after that.
    ends = datetime.combine(LAST_DAY, time(), UTC)
    yield _alert(
        plan,
        "KrmWindowsTableEnds",
        f"vector(time()) > {int((ends - _HALF_A_YEAR).timestamp())}",
        f"the windows of {{policy}} are known up to {LAST_DAY} only, and nothing opens after that: "
        "render them with a newer krm-windows",
    )


def _edges(plan: Plan) -> Iterator[Rule]:
    """Yield an alert for each sort of edge.

    One is past, and no Job of any CronJob has succeeded since. An edge for which no Job was made is
    healed by the next run, so only edges that act are asked when they are due: older releases of
    kube-state-metrics leave the time zone out there (kubernetes/kube-state-metrics#2206).
    """
    # So long after an edge a run that was late may still end well.
    patience = gate.STARTING_DEADLINE_SECONDS + gate.deadline(plan)
    for sort, (name, words) in _EDGES.items():
        triggers = [trigger for trigger in plan.triggers if trigger.edge is sort]
        if not triggers:
            continue
        which = _cron_jobs(plan, triggers)
        edge = f"kube_cronjob_status_last_schedule_time{which} < time() - {patience}"
        if not plan.runs_gate:
            edge = f"kube_cronjob_next_schedule_time{which} < time() - {patience} or {edge}"
        last = f"max by (namespace) ({edge})"
        yield _alert(plan, name, f"{last} > on (namespace) {_succeeded(plan)}", words)


def _of_targets(plan: Plan) -> Iterator[Rule]:
    """Yield the alerts on what targets say: resumed by somebody, or kept closed by a fault."""
    annotated = f"{state_metrics.CLOSED_BY}{{policy={text(plan.policy)}}}"
    yield _alert(
        plan,
        "KrmWindowsReopened",
        # Joined by the target: the two series have their other labels in common anyhow.
        f"max by ({_KINDS}) ({state_metrics.SUSPENDED} == 0 and on ({_KINDS}) {annotated})",
        "{policy} closed a target, someone resumed it, and it was not closed again within two "
        "intervals",
        int((2 * plan.interval).total_seconds()),
    )
    yield _alert(
        plan,
        "KrmWindowsClocksApart",
        f"max by ({_KINDS}) ({_annotated(plan, _member(CAUSE, Cause.CLOCK_SKEW))})",
        f"{{policy}} does not open a target: {APART}",
    )
    if plan.hooks and (plan.hooks.before_open or plan.hooks.after_apply):
        yield _alert(
            plan,
            "KrmWindowsHookFailed",
            f"max by (policy) ({_annotated(plan, _member(CAUSE, Cause.HOOK_FAILED))})",
            "a hook of {policy} failed and keeps the targets closed although their window is "
            "open: their closed-by annotation names its Job",
        )


def _annotated(plan: Plan, part: str) -> str:
    """Return the series of the targets whose closed-by annotation of the policy has a part."""
    labels = f"policy={text(plan.policy)},closed_by=~{text(f'.*{pattern(part)}.*')}"
    return f"{state_metrics.CLOSED_BY}{{{labels}}}"


def _member(key: str, value: str) -> str:
    """Return how a key with its value is written in the JSON of the annotation.

    It follows another one. A reason's quotes are escaped there, so that no reason looks like it.
    """
    return f", {json.dumps(key)}: {json.dumps(value)}"


def _alert(plan: Plan, name: str, expression: str, words: str, seconds: int = 0) -> Rule:
    policy = template(plan.policy)
    alert: Rule = {"alert": name, "expr": expression}
    if seconds:
        alert["for"] = f"{seconds}s"
    # Labels and annotations of an alert are templates; a label of a record (above) is not.
    alert["labels"] = {"policy": policy, "severity": "warning"}
    alert["annotations"] = {"summary": words.format(policy=policy)}
    return alert


def _succeeded(plan: Plan) -> str:
    """Return the expression of when a run last succeeded.

    Where none ever has, of when the last CronJob was made.
    """
    created = f"max by (namespace) (kube_cronjob_created{_cron_jobs(plan, plan.triggers)})"
    return f"({_recorded(plan, _SUCCESS)} or on (namespace) {created})"


def _recorded(plan: Plan, name: str) -> str:
    return f"{name}{{policy={text(plan.policy)}}}"


def _cron_jobs(plan: Plan, triggers: Iterable[Trigger]) -> str:
    found = _either(names.cron_job(plan, trigger) for trigger in triggers)
    return f"{{namespace={text(plan.namespace)},cronjob=~{text(found)}}}"


def _jobs(plan: Plan) -> str:
    """Return the pattern of the names of the CronJobs' Jobs: they add the minute of their run."""
    cron_jobs = _either(names.cron_job(plan, trigger) for trigger in plan.triggers)
    return f"({cron_jobs})-[0-9]+"


def _either(found: Iterable[str]) -> str:
    """Return the pattern of some names."""
    return "|".join(pattern(name) for name in sorted(found))
