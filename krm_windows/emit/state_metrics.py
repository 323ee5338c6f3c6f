"""The configuration by which kube-state-metrics exports metrics of the targets.

Two metrics: whether an object is suspended, by anybody, and this policy's closed-by annotation
where it carries one. CronJobs are left out, as kube-state-metrics knows them
(`kube_cronjob_spec_suspend`). Format: kube-state-metrics,
docs/metrics/extend/customresourcestate-metrics.md.
"""

from krm_windows.emit import names
from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.gate.annotations import annotation
from krm_windows.gate.timetable import Target
from krm_windows.krm import writer
from krm_windows.plan.model import Plan

KEY = "custom-resource-state.yaml"
SUSPENDED = "krm_windows_target_suspended"
CLOSED_BY = "krm_windows_target_closed_by_info"
_PREFIX = "krm_windows"


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
    found: list[Target] = []
    for (group, _), by_field in sorted(fields.items()):
        # CronJobs and Jobs are in `batch`.
        if group != "batch" and len(by_field) == 1:
            found.extend(by_field.values())
    return found


def _resource(plan: Plan, target: Target) -> dict[str, object]:
    """Return what is said of one kind.

    Names that Prometheus' own labels of the scrape do not hide.
    """
    labels = {
        "target_name": ["metadata", "name"],
        "target_namespace": ["metadata", "namespace"],
    }
    kind = {
        "group": target.group,
        "version": target.version or "*",
        "kind": target.kind,
    }
    metrics = [_suspended(target)]
    # `Kubectl` writes no annotations.
    if plan.runs_gate:
        metrics.append(_closed_by(plan))
    return {
        "groupVersionKind": kind,
        "metricNamePrefix": _PREFIX,
        "labelsFromPath": labels,
        "metrics": metrics,
    }


def _suspended(target: Target) -> dict[str, object]:
    return {
        "name": SUSPENDED.removeprefix(f"{_PREFIX}_"),
        "help": "Whether the object is suspended, by anyone.",
        # Without the field an object is not suspended, so that nothing is zero.
        "each": {"type": "Gauge", "gauge": {"path": list(target.field), "nilIsZero": True}},
    }


def _closed_by(plan: Plan) -> dict[str, object]:
    labels = {"closed_by": [annotation(plan.policy)]}
    return {
        "name": CLOSED_BY.removeprefix(f"{_PREFIX}_"),
        "help": (
            "The closed-by annotation of a policy on an object that it has closed: why, since "
            "when and until when."
        ),
        "commonLabels": {"policy": plan.policy},
        "each": {
            "type": "Info",
            "info": {"path": ["metadata", "annotations"], "labelsFromPath": labels},
        },
    }
