"""The configuration by which kube-state-metrics exports metrics of the targets.

Two metrics: whether an object is suspended, by anybody, and this policy's closed-by annotation
where it carries one. CronJobs are left out, as kube-state-metrics knows them
(`kube_cronjob_spec_suspend`). Format: kube-state-metrics,
docs/metrics/extend/customresourcestate-metrics.md.
"""

from itertools import chain

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.gate.annotations import annotation
from krm_windows.gate.timetable import Target
from krm_windows.krm import writer
from krm_windows.plan.model import Plan

KEY = "custom-resource-state.yaml"
SUSPENDED = "krm_windows_target_suspended"
CLOSED_BY = "krm_windows_target_closed_by_info"
# Names that Prometheus' own labels of the scrape do not hide. Without the field an object is not
# suspended, so that nothing is zero.
_RESOURCE = read("""
groupVersionKind: {group: $group, version: $version, kind: $kind}
metricNamePrefix: krm_windows
labelsFromPath:
  target_name: [metadata, name]
  target_namespace: [metadata, namespace]
metrics:
  - name: target_suspended
    help: Whether the object is suspended, by anyone.
    each:
      type: Gauge
      gauge: {path: $field, nilIsZero: true}
  - name: target_closed_by_info
    help: >-
      The closed-by annotation of a policy on an object that it has closed: why, since when and
      until when.
    commonLabels: {policy: $policy}
    each:
      type: Info
      info: {path: [metadata, annotations], labelsFromPath: {closed_by: [$annotation]}}
""")


def objects(plan: Plan) -> list[Manifest]:
    """Return the ConfigMap for `--custom-resource-state-config-file` of kube-state-metrics."""
    resources = [_resource(plan, target) for target in kinds(plan)]
    config = {"kind": "CustomResourceStateMetrics", "spec": {"resources": resources}}
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(plan, names.state_metrics(plan), plan.namespace),
            "data": {KEY: writer.render(config)},
        }
    ]


def kinds(plan: Plan) -> list[Target]:
    """Return a target of each kind that is reported.

    Those that one field turns, as one metric has one path. kube-state-metrics knows CronJobs
    by itself.
    """
    fields: dict[tuple[str, str], dict[tuple[str, ...], Target]] = {}
    for target in (*plan.timetable.targets, *plan.timetable.released):
        fields.setdefault((target.group, target.kind), {})[target.field] = target
    # CronJobs and Jobs are in `batch`.
    reported = [each for (group, _), each in sorted(fields.items()) if group != "batch"]
    alone = [list(each.values()) for each in reported if len(each) == 1]
    return list(chain.from_iterable(alone))


def _resource(plan: Plan, target: Target) -> dict[str, object]:
    """Return what is said of one kind; `Kubectl` writes no annotations."""
    return fill(
        _RESOURCE if plan.runs_gate else {**_RESOURCE, "metrics": _RESOURCE["metrics"][:1]},
        group=target.group,
        version=target.version or "*",
        kind=target.kind,
        field=list(target.field),
        policy=plan.policy,
        annotation=annotation(plan.policy),
    )
