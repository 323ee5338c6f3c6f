"""Whatever is at whatever place of the API: loading and schema say what is wrong with it."""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import jsonschema
import pytest
import yaml
from catalogue import schema
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_windows import krm
from krm_windows.classes import load as classes
from krm_windows.classes.model import ChangeClasses
from krm_windows.krm.nodes import value
from krm_windows.policy import load as policies
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result

SHAPES: list[object] = [
    *(None, "", "x", "²", "9" * 5000, "a\nb", True, 7, 1.5, [], {}, [None], {"": ""}, {"a": None}),
    *(["x"], [["x"]], {"a": "x"}, {"a": ["x"]}, {"a": {"a": {}}}, [{"a": "x"}], [{}], {"x": {}}),
]
GOOD: dict[str, object] = {
    "timeZone": "Europe/Berlin",
    "targets": [{"kind": "Kustomization", "names": ["apps"]}],
    "windows": {"office": {"opens": "Mon 08:00", "closes": "Thu 17:00"}},
}
CLASSES: dict[str, object] = {
    "classes": [{"name": "live"}, {"name": "windowed"}],
    "default": "live",
}
Place = tuple[str | int, ...]
ROOT = Path(__file__).parents[2]
# Whole policies and classes, in which one field is changed at a time.
FULL = yaml.safe_load("""
WindowPolicy:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows: {x: {opens: Mon 08:00, closes: Thu 17:00}}
  freezes: {x: {starts: "2026-12-20", ends: "2026-12-24", reason: why}}
  overrides: {x: {state: Open, ends: "2026-12-24", reason: why}}
  hooks: {namespace: line, afterClose: {image: "a:1", env: [{name: A, value: b}]}}
  clusters: {x: {windows: {x: {opens: Mon 09:00}}}}
ChangeClasses:
  classes: [{name: live}, {name: window}]
  default: live
  rules: [{class: window, kinds: [ConfigMap]}]
  acknowledge: [{from: Deployment/shop/api, to: Namespace/shop, reason: why}]
""")
# What some field takes, or nearly does.
VALUES: list[object] = [
    *("Mon 08:00", "2nd Tue +2d 22:00", "12:00", "2026-12-20", "2026-12-24T20:00Z", "Mno", "90m"),
    *("0m", "5m", "7m", "400d", "auto", "Open", "Closed", "Scheduled", "Allow", "Wait", "Gate"),
    *("a-b", "A_b", "x" * 64, "a/b", "a/b/c", "v1", "example.org/v1", "spec.a", "status.a"),
    *("python:3.13", "python:latest", f"p@sha256:{'0' * 64}", "Always", "true", "443", "64Mi"),
    *("web-*", "a?", "ConfigMap", "Service.serving.knative.dev", "Deployment/*/web-*", "", " ", 7),
    *(None, True, [], {}, "x", ["x"], [["x"]], {"a": "x"}, {"A_b": {"opens": "Mon 08:00"}}),
]
# What is wrong with a text, or with one text beside another: more than a schema can say.
BEYOND_A_SCHEMA = re.compile(
    "too-many|moment-.*|cron-.*|cronjob-shared|duration-syntax|end-(one-off|instant|order)"
    "|ends-meet|time-zone|target-(duplicate|elsewhere|kind|cluster-scoped)|network-policy|cluster-unknown"
    "|end-choice|outside-windows|target-(privileged|selector)|program-image|hook-value"
    "|kubectl-field|hook-(namespace|none|rollback)|suspend-field|quantity-syntax|resources"
    "|class-(duplicate|unknown)|rule-(empty|unreachable)"
)
# A name of two parts, where a number or a boolean stands for its text; a block of addresses; and
# what a patch makes of the policy.
BEYOND_ITS_PLACES = re.compile(
    r"spec\.(formerNames.*|classes.*policy|network.*cidr|clusters.*)|.*env.*name|.*matchLabels"
)
# Policies alone: the documents of other rules are ResourceLists, and a schema cannot see a key that
# occurs twice.
FIXTURES = [
    path
    for path in sorted((ROOT / "tests/fixtures/rules").glob("*/*.yaml"))
    if "kind: ResourceList" not in path.read_text() and path.parent.name != "key-duplicate"
]


def paths(node: object, above: Place = ()) -> Iterator[Place]:
    if not isinstance(node, Mapping):
        return
    yield above
    for name, inner in node.get("properties", {}).items():
        yield from paths(inner, (*above, name))
    yield from paths(node.get("items"), (*above, 0))
    yield from paths(node.get("additionalProperties"), (*above, "x"))


def put(document: object, path: Place, shape: object) -> object:
    if not path:
        return shape
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        entries = list(document) if isinstance(document, list) else []
        return [put(entries[0] if entries else None, rest, shape), *entries[1:]]
    known = dict(document) if isinstance(document, dict) else {}
    return {**known, step: put(known.get(step), rest, shape)}


def found(kind: str, document: object) -> list[Result]:
    if not isinstance(document, dict):
        return []
    node = krm.KubeObject.from_value(document).node
    if kind == "WindowPolicy":
        loaded = policies.load(node)
        return [
            *loaded.results,
            *(each for name in (None, "x", "y") for each in loaded.for_cluster(name)[1]),
        ]
    return list(classes.load(node)[1])


KINDS = {
    kind: (
        {
            "apiVersion": "krm-windows.dev/v1alpha1",
            "kind": kind,
            "metadata": {"name": "week", "namespace": "flux-system"},
            "spec": spec,
        },
        list(paths(schema.tree(model))),
    )
    for kind, spec, model in (
        ("WindowPolicy", GOOD, WindowPolicy),
        ("ChangeClasses", CLASSES, ChangeClasses),
    )
}


VALIDATORS = {
    kind: jsonschema.Draft202012Validator(schema.json_schema(model))
    for kind, model in (("WindowPolicy", WindowPolicy), ("ChangeClasses", ChangeClasses))
}


def agree(kind: str, document: object) -> None:
    """Assert that schema and model give one verdict, but for what only the model can know."""
    errors = [each for each in found(kind, document) if each.severity == "error"]
    sayable = [
        str(each)
        for each in errors
        if not BEYOND_A_SCHEMA.fullmatch(each.rule) and not BEYOND_ITS_PLACES.fullmatch(each.path)
    ]
    refused = [each.message for each in VALIDATORS[kind].iter_errors(document)]
    assert errors or not refused, (refused[:3], document)
    assert refused or not sayable, (sayable, document)


@pytest.mark.parametrize("kind", KINDS)
def test_schema_and_model_accept_the_same(kind: str) -> None:
    """Whatever is at a place: `make test` asks some, all of them take half a minute."""
    whole = {**KINDS[kind][0], "spec": FULL[kind]}
    places = [path for path in KINDS[kind][1] if path[:1] == ("spec",)]
    asked = list(product([("metadata", "name"), *places], VALUES))
    for path, changed in asked[:: 1 if examples(100) == 100 else 61]:
        agree(kind, put(whole, path, changed))


def test_fixtures_of_the_rules() -> None:
    for fixture in FIXTURES:
        for policy in krm.documents(fixture.read_bytes()):
            agree("WindowPolicy", value(policy.node))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100), derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_several_shapes_at_once(kind: str, data: st.DataObject) -> None:
    document, places = KINDS[kind]
    changed: object = document
    for path, shape in data.draw(
        st.lists(st.tuples(st.sampled_from(places), st.sampled_from(SHAPES)), max_size=4)
    ):
        changed = put(changed, path, shape)
        if data.draw(st.booleans()) and path[:1] == ("spec",):
            changed = put(changed, ("spec", "clusters", "x", *path[1:]), shape)
    found(kind, changed)
