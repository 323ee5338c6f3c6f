"""What `extras` adds is what takes it.

By Kubernetes' own schemas, the CRD of prometheus-operator, and kube-state-metrics. The format of
kube-state-metrics is checked by a schema of its documented fields
(docs/metrics/extend/customresourcestate-metrics.md): the program is published neither as a Debian
package nor as a Go module that could be built.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml
from calls import POLICY, call, wire
from kubernetes_validate.utils import all_versions
from modules import files
from packaging.version import Version

# ValidatingAdmissionPolicy is v1 from this release on.
ADMISSION = Version("1.30")
RELEASES = [version for version in all_versions() if Version(version) >= ADMISSION]
KINDS = """\
  extras: [NetworkPolicy, PrometheusRule, StateMetrics]
  hooks: {namespace: maintenance, afterClose: {image: "i:1"}}
  released:
  - {kind: HelmRelease, names: [old]}
  - {kind: Cluster, names: [one]}
  - {kind: CronJob, names: [nightly]}
  - kind: Widget
    names: [it]
    apiVersion: example.com/v1
    resource: widgets
    suspendField: spec.off
    trueMeans: Closed
"""
PATH = {"type": "array", "items": {"type": "string"}, "minItems": 1}
LABELS = {"type": "object", "additionalProperties": PATH}


def closed(required: list[str], **properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


EACH = {
    "oneOf": [
        closed(
            ["type", "gauge"],
            type={"const": "Gauge"},
            gauge=closed(
                ["path"],
                path=PATH,
                valueFrom=PATH,
                labelsFromPath=LABELS,
                nilIsZero={"type": "boolean"},
            ),
        ),
        closed(
            ["type", "info"],
            type={"const": "Info"},
            info=closed(["path"], path=PATH, labelsFromPath=LABELS),
        ),
    ]
}
TEXT = {"type": "string", "minLength": 1}
METRIC = closed(
    ["name", "help", "each"],
    name=TEXT,
    help=TEXT,
    commonLabels={"type": "object"},
    labelsFromPath=LABELS,
    each=EACH,
)
STATE_METRICS = closed(
    ["kind", "spec"],
    kind={"const": "CustomResourceStateMetrics"},
    spec=closed(
        ["resources"],
        resources={
            "type": "array",
            "items": closed(
                ["groupVersionKind", "metrics"],
                groupVersionKind=closed(
                    ["group", "version", "kind"], group=TEXT, version=TEXT, kind=TEXT
                ),
                metricNamePrefix={"type": "string"},
                labelsFromPath=LABELS,
                metrics={"type": "array", "items": METRIC, "minItems": 1},
            ),
        },
    ),
)
Object = dict[str, Any]


@pytest.fixture(scope="module")
def emitted() -> list[Object]:
    items: list[Object] = call(wire(config=POLICY + KINDS)).objects
    return items


def of(emitted: list[Object], kind: str) -> list[Object]:
    return [item for item in emitted if item["kind"] == kind]


@pytest.mark.parametrize("release", RELEASES)
def test_strict_schema(emitted: list[Object], release: str) -> None:
    """Admission policies, bindings and the NetworkPolicy satisfy every release's schema."""
    found = [
        *of(emitted, "ValidatingAdmissionPolicy"),
        *of(emitted, "ValidatingAdmissionPolicyBinding"),
    ]
    found += of(emitted, "NetworkPolicy")
    assert len(found) == 11
    for item in found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the validator's own open files
            kubernetes_validate.validate(item, release, strict=True)


def test_the_crd_of_prometheus_operator(emitted: list[Object], tool: Callable[[str], Path]) -> None:
    """The rule satisfies its schema, without a field that it does not know."""
    assert tool("go")
    paths = files("github.com/prometheus-operator/prometheus-operator")
    [path] = [path for path in paths if "prometheusrules" in path.name]
    text = path.read_text().replace("^(?i)", "(?i)^")  # Python wants flags first
    [version] = yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    [rule] = of(emitted, "PrometheusRule")
    schema["properties"]["metadata"] = {}
    jsonschema.validate(rule, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**rule, "spec": {"group": []}}, schema)


def strict(schema: Object) -> Object:
    """Return a structural schema that refuses what a real API server would prune."""
    found = {
        key: strict(value) if isinstance(value, dict) else value for key, value in schema.items()
    }
    return (
        {**found, "additionalProperties": False}
        if "properties" in schema and "type" in schema
        else found
    )


def test_the_format_of_kube_state_metrics(emitted: list[Object]) -> None:
    """A resource for each kind, once, but for CronJobs, which kube-state-metrics knows."""
    [found] = [
        item
        for item in of(emitted, "ConfigMap")
        if "custom-resource-state.yaml" in item.get("data", {})
    ]
    config = yaml.load(found["data"]["custom-resource-state.yaml"], yaml.CSafeLoader)
    jsonschema.validate(config, STATE_METRICS)
    resources = config["spec"]["resources"]
    assert [resource["groupVersionKind"]["kind"] for resource in resources] == [
        "Cluster",
        "Widget",
        "HelmRelease",
        "Kustomization",
    ]
    paths = [resource["metrics"][0]["each"]["gauge"]["path"] for resource in resources]
    assert paths == [["spec", "paused"], ["spec", "off"], ["spec", "suspend"], ["spec", "suspend"]]


def test_a_kind_that_two_fields_turn_is_left_out() -> None:
    """One metric has one path: the other object would seem to be open for ever."""
    second = (
        "  - {kind: Widget, names: [other], apiVersion: example.com/v1, resource: widgets, "
        "suspendField: spec.no, trueMeans: Closed}\n"
    )
    items = call(wire(config=POLICY + KINDS + second)).objects
    [text] = [
        item["data"]["custom-resource-state.yaml"]
        for item in items
        if "state-metrics" in name(item)[1]
    ]
    assert "Widget" not in text
    assert "HelmRelease" in text


def test_names_of_the_whole_cluster(emitted: list[Object]) -> None:
    """They hold the namespace, so that policies of one name do not meet."""
    elsewhere = call(
        wire(config=(POLICY + KINDS).replace("namespace: flux-system", "namespace: other"))
    ).out
    names = [
        {item["metadata"]["name"] for item in of(items, "ValidatingAdmissionPolicy")}
        for items in (emitted, yaml.load(elsewhere, yaml.CSafeLoader)["items"])
    ]
    assert len(names[0] | names[1]) == 10


def test_a_namespace_on_what_has_none(emitted: list[Object]) -> None:
    """kustomize gives one to kinds that it does not know."""
    moved = [
        {**item, "metadata": {**item["metadata"], "namespace": "flux-system"}} for item in emitted
    ]
    again = call(wire(*map(yaml.safe_dump, moved), config=POLICY + KINDS)).objects
    assert sorted(map(name, again)) == sorted(map(name, emitted))
    without = POLICY + "  admissionPolicy: Disabled\n"
    fewer = call(wire(*map(yaml.safe_dump, moved), config=without)).objects
    assert not {"ValidatingAdmissionPolicy", "NetworkPolicy", "PrometheusRule"} & {
        item["kind"] for item in fewer
    }


def name(item: Object) -> tuple[str, str]:
    return item["kind"], item["metadata"]["name"]
