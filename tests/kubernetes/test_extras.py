"""What `extras` adds is what takes it: prometheus-operator, and kube-state-metrics."""

from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml
from calls import POLICY, call, wire
from modules import files
from restricted import Object


def of(items: list[Object], kind: str) -> list[Object]:
    return [item for item in items if item["kind"] == kind]


def test_the_crd_of_prometheus_operator(extras: list[Object], tool: Callable[[str], Path]) -> None:
    assert tool("go")
    paths = files("github.com/prometheus-operator/prometheus-operator")
    [path] = [path for path in paths if "prometheusrules" in path.name]
    text = path.read_text().replace("^(?i)", "(?i)^")  # Python wants flags first
    [version] = yaml.load(text, yaml.CSafeLoader)["spec"]["versions"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    [rule] = of(extras, "PrometheusRule")
    schema["properties"]["metadata"] = {}
    jsonschema.validate(rule, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**rule, "spec": {"group": []}}, schema)


def strict(schema: Object) -> Object:
    """Return a structural schema that refuses what a real API server would prune."""
    found = {
        key: strict(value) if isinstance(value, dict) else value for key, value in schema.items()
    }
    is_object = "properties" in schema and "type" in schema
    return {**found, "additionalProperties": False} if is_object else found


def state_metrics(items: list[Object]) -> dict[str, list[str]]:
    texts = [
        item.get("data", {}).get("custom-resource-state.yaml") for item in of(items, "ConfigMap")
    ]
    [text] = [text for text in texts if text]
    return {
        resource["groupVersionKind"]["kind"]: resource["metrics"][0]["each"]["gauge"]["path"]
        for resource in yaml.load(text, yaml.CSafeLoader)["spec"]["resources"]
    }


def test_the_kinds_of_kube_state_metrics(extras: list[Object], policy: str) -> None:
    """One metric has one path: the other object would seem to be open for ever."""
    found = {
        "Cluster": ["spec", "paused"],
        "Widget": ["spec", "off"],
        "HelmRelease": ["spec", "suspend"],
        "Kustomization": ["spec", "suspend"],
    }
    assert state_metrics(extras) == found
    second = (
        "  - {kind: Widget, names: [other], apiVersion: example.com/v1, resource: widgets, "
        "suspendField: spec.no, trueMeans: Closed}\n"
    )
    del found["Widget"]
    assert state_metrics(call(wire(config=policy + second)).objects) == found


def test_names_of_the_whole_cluster(extras: list[Object], policy: str) -> None:
    """They hold the namespace, so that policies of one name do not meet."""
    other = policy.replace("namespace: flux-system", "namespace: other")
    items = [*extras, *call(wire(config=other)).objects]
    assert len({item["metadata"]["name"] for item in of(items, "ValidatingAdmissionPolicy")}) == 10


def test_a_namespace_on_what_has_none(extras: list[Object], policy: str) -> None:
    """kustomize gives one to kinds that it does not know: they are ours all the same."""
    moved = [
        yaml.safe_dump({**item, "metadata": {**item["metadata"], "namespace": "flux-system"}})
        for item in extras
    ]
    again = call(wire(*moved, config=policy)).objects
    assert names(again) == names(extras)
    fewer = call(wire(*moved, config=f"{POLICY}  admissionPolicy: Disabled\n")).objects
    kinds = {kind for kind, _ in names(fewer)}
    assert not kinds & {"ValidatingAdmissionPolicy", "NetworkPolicy", "PrometheusRule"}


def names(items: list[Object]) -> list[tuple[str, str]]:
    return sorted((item["kind"], item["metadata"]["name"]) for item in items)
