"""The alerts: Prometheus rules on what kube-state-metrics says of the policy's CronJobs and Jobs.

PromQL knows no time zones, so no rule works out when a window is open. The gate does: its Job
succeeds only where every target is as it should be (but for those left to a person). So a target
that is not as it should be, and a cluster in which nothing runs, are the same to see: no run has
succeeded. Metrics: kube-state-metrics, docs/metrics/workload.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from string import Template

from krm_windows.emit import gate, names, state_metrics
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import read
from krm_windows.escape.prometheus import pattern, template, text
from krm_windows.gate.annotations import APART, CAUSE, Cause
from krm_windows.plan.model import Plan
from krm_windows.plan.timetable import LAST_DAY
from krm_windows.plan.triggers import Edge, Trigger

_HALF_A_YEAR = timedelta(days=183)
# Series that Prometheus works out once for all alerts; colons are for such names (Prometheus,
# "Recording rules").
_RECORDS = read("""
- record: krm_windows:last_successful_run:timestamp_seconds
  expr: max by (namespace) (kube_cronjob_status_last_successful_time$cron_jobs)
- record: krm_windows:last_failed_run:timestamp_seconds
  expr: >-
    max by (namespace) (kube_job_status_start_time{$jobs} and on (namespace, job_name)
    kube_job_failed{$jobs,condition="true"} == 1)
""")
# What the rules below name of these: for the policy alone; and where no run has ever succeeded,
# when the last CronJob was made.
_SUCCESS = "krm_windows:last_successful_run:timestamp_seconds{policy=$policy_text}"
_FAILURE = "krm_windows:last_failed_run:timestamp_seconds{policy=$policy_text}"
_SUCCEEDED = f"({_SUCCESS} or on (namespace) max by (namespace) (kube_cronjob_created$cron_jobs))"
# That no run succeeds: not before one may have ended that began just in time. An edit, which the
# end of the apply Job shows, begins the time of two intervals anew: it may have made the interval
# shorter. It is no success, as that Job does not fail
# (docs/decisions/0028-the-apply-job-does-not-fail). And that the table ends: nothing is opened any
# more after that. `Kubectl` runs at edges alone, so a long time without a run is no fault there.
_OF_GATE = read(f"""
- alert: KrmWindowsNoSuccessfulRun
  expr: >-
    time() - max by (namespace) ({_SUCCEEDED} or kube_job_status_completion_time{{$apply_jobs}})
    > $two_intervals
  for: ${{deadline}}s
  summary: >-
    no run of $policy has succeeded for two intervals: a target is not in the desired state, or no
    Job runs
- alert: KrmWindowsTableEnds
  expr: vector(time()) > $half_a_year_before
  summary: >-
    the windows of $policy are known up to {LAST_DAY} only, and nothing opens after that: render
    them with a newer krm-windows
""")
# A Job has failed that began after the last run that succeeded.
_FAILING = read(f"""
- alert: KrmWindowsGateFailing
  expr: >-
    {_FAILURE} unless on (namespace) ({_SUCCESS} > on (namespace) {_FAILURE})
  summary: "a Job of $policy failed, and none has succeeded since: see its log for the targets"
""")
# An alert for each sort of edge: its name, and what it says.
_EDGES = {
    Edge.OPENING: ("KrmWindowsNotOpened", "a window of $policy opened, but no"),
    Edge.CLOSING: ("KrmWindowsNotClosed", "a window of $policy closed, but no"),
    # One of the triggers in UTC may be an hour beside the edge (ADR 24).
    Edge.EITHER: (
        "KrmWindowsEdgeMissed",
        "a window, freeze or override of $policy may have begun or ended, but no",
    ),
}
# The labels of a target's series; `namespace` is that of kube-state-metrics itself.
_KINDS = "customresource_group, customresource_kind, target_namespace, target_name"


def _kept_closed(cause: Cause) -> str:
    """Return the series of the targets whose closed-by annotation of the policy has a cause.

    It is searched for as the JSON of the annotation has it, behind another key: a reason's quotes
    are escaped there, so that no reason looks like it.
    """
    part = pattern(f', "{CAUSE}": "{cause}"')
    return f"{state_metrics.CLOSED_BY}{{policy=$policy_text,closed_by=~{text(f'.*{part}.*')}}}"


# What targets say: resumed by somebody, or kept closed by a fault. The two series of a target have
# their other labels in common anyhow.
_OF_TARGETS = read(f"""
- alert: KrmWindowsReopened
  expr: >-
    max by ({_KINDS}) ({state_metrics.SUSPENDED} == 0 and on ({_KINDS})
    {state_metrics.CLOSED_BY}{{policy=$policy_text}})
  for: ${{two_intervals}}s
  summary: >-
    $policy closed a target, someone resumed it, and it was not closed again within two intervals
- alert: KrmWindowsClocksApart
  expr: >-
    max by ({_KINDS}) ({_kept_closed(Cause.CLOCK_SKEW)})
  summary: >-
    $policy does not open a target: {APART}
""")
_OF_HOOKS = read(f"""
- alert: KrmWindowsHookFailed
  expr: >-
    max by (policy) ({_kept_closed(Cause.HOOK_FAILED)})
  summary: >-
    a hook of $policy failed and keeps the targets closed although their window is open: their
    closed-by annotation names its Job
""")
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
    namespace = text(plan.namespace)
    every = _either(plan, plan.triggers)
    at_once = f"{pattern(names.apply_job_prefix(plan))}[0-9a-f]+"
    ends = datetime.combine(LAST_DAY, time(), UTC)
    values = {
        "policy": template(plan.policy),
        "policy_text": text(plan.policy),
        "cron_jobs": _cron_jobs(plan, plan.triggers),
        # They add the minute of their run.
        "jobs": f"namespace={namespace},job_name=~{text(f'({every})-[0-9]+')}",
        "apply_jobs": f"namespace={namespace},job_name=~{text(at_once)}",
        "deadline": gate.deadline(plan),
        "two_intervals": int((2 * plan.interval).total_seconds()),
        "half_a_year_before": int((ends - _HALF_A_YEAR).timestamp()),
    }
    for record in _RECORDS:
        written = _filled(record, values)
        # A label of a record is no template.
        yield {"record": written["record"], "labels": {"policy": plan.policy}, **written}
    alerts = [*(_OF_GATE if plan.runs_gate else ()), *_FAILING, *_edges(plan)]
    # What is reported about targets needs their series, which are an extra of their own.
    if plan.runs_gate and state_metrics.kinds(plan) and "StateMetrics" in plan.extras:
        alerts += _OF_TARGETS
        if plan.hooks and (plan.hooks.before_open or plan.hooks.after_apply):
            alerts += _OF_HOOKS
    labels = {"policy": values["policy"], "severity": "warning"}
    for alert in alerts:
        written = _filled(alert, values)
        annotations = {"summary": written.pop("summary")}
        yield {**written, "labels": labels, "annotations": annotations}


def _filled(rule: Mapping[str, str], values: Mapping[str, object]) -> dict[str, str]:
    return {key: Template(words).substitute(values) for key, words in rule.items()}


def _edges(plan: Plan) -> Iterator[dict[str, str]]:
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
        which = _cron_jobs(plan, triggers).replace("$", "$$")
        edge = f"kube_cronjob_status_last_schedule_time{which} < time() - {patience}"
        if not plan.runs_gate:
            edge = f"kube_cronjob_next_schedule_time{which} < time() - {patience} or {edge}"
        yield {
            "alert": name,
            "expr": f"max by (namespace) ({edge}) > on (namespace) {_SUCCEEDED}",
            "summary": f"{words} run has succeeded since",
        }


def _cron_jobs(plan: Plan, triggers: Iterable[Trigger]) -> str:
    return f"{{namespace={text(plan.namespace)},cronjob=~{text(_either(plan, triggers))}}}"


def _either(plan: Plan, triggers: Iterable[Trigger]) -> str:
    """Return the pattern of the names of CronJobs."""
    return "|".join(map(pattern, sorted(names.cron_job(plan, trigger) for trigger in triggers)))
