"""What is generated from the model: it is committed, and says what the model says."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from catalogue import files as catalogue
from catalogue import schema
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_windows.krm import KubeObject, documents
from krm_windows.krm.nodes import Mapping, value
from krm_windows.policy.load import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.results import Result

ROOT = Path(__file__).parents[3]
EXAMPLES = [
    path
    for path in sorted((ROOT / "function-config/examples").glob("*.yaml"))
    if path.stem != "change-classes"
]
# Policies alone: the documents of other rules are ResourceLists, and a schema cannot see a key that
# occurs twice.
FIXTURES = [
    path
    for path in sorted((ROOT / "tests/fixtures/rules").glob("*/*.yaml"))
    if "kind: ResourceList" not in path.read_text() and path.parent.name != "key-duplicate"
]
VALIDATOR = jsonschema.Draft202012Validator(schema.json_schema(WindowPolicy))

# What is wrong with a text, or with one text beside another: more than a schema can say.
BEYOND_A_SCHEMA = re.compile(
    "too-many|moment-.*|cron-.*|cronjob-shared|duration-syntax|end-(one-off|instant|order)"
    "|ends-meet|time-zone|target-(duplicate|elsewhere|kind|cluster-scoped)|network-policy|cluster-unknown"
    "|end-choice|outside-windows|target-(privileged|selector)|program-image|hook-value"
    "|kubectl-field|hook-(namespace|none|rollback)|suspend-field|quantity-syntax|resources"
)


def test_the_schema_is_one() -> None:
    """What is written is what is used; it is valid against its own dialect, and so is OpenAPI's."""
    assert json.loads(catalogue.WINDOW_POLICY.json_schema()) == schema.json_schema(WindowPolicy)
    jsonschema.Draft202012Validator.check_schema(schema.json_schema(WindowPolicy))
    jsonschema.Draft202012Validator.check_schema(schema.open_api(WindowPolicy))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_right(path: Path) -> None:
    """The examples satisfy schema and model, for every cluster they name."""
    node = KubeObject.parse(path.read_bytes()).node
    loaded = load(node)
    assert loaded.results == ()
    assert all(loaded.clusters.values())
    VALIDATOR.validate(value(node))


def test_fixtures_of_the_rules() -> None:
    """What the model takes the schema takes; what the schema refuses the model refuses."""
    for fixture in FIXTURES:
        for policy in documents(fixture.read_bytes()):
            agree(policy.node)


def test_the_definition_is_structural() -> None:
    """Every level of the OpenAPI schema has one type, as apiextensions demands."""
    definition = yaml.safe_load(catalogue.WINDOW_POLICY.definition())
    levels = [definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]]
    for node in levels:
        assert isinstance(node.get("type"), str), node
        below = [*node.get("properties", {}).values(), node.get("items")]
        levels += filter(None, [*below, node.get("additionalProperties")])
    assert len(levels) > 100


NAMES = st.sampled_from(["a", "b-1", "A", "a_b", "", "x" * 64, "7"])
RECURRING = ["Mon 08:00", "Thu 17:00", "2nd Tue +2d 22:00", "last workday 22:00", "0 8 * * MON"]
MOMENTS = st.sampled_from([*RECURRING, "12:00", "2026-12-20", "2026-12-24T20:00Z", "", "Mno", 5])
DURATIONS = st.sampled_from(["90m", "1h30m", "2d", "0m", "m", "", "4 hours", "400d", 90])
TEXTS = st.sampled_from(["why", "", " ", 4711, True, [], {}])
CHOICES = st.sampled_from(["Open", "Closed", "Scheduled", "open", "Allow", "Wait", True])


def some(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """Draw a map with any of these fields, null among their values, and an unknown one at times."""
    unknown = {"unknown": st.just("x")}
    values = {name: st.none() | drawn | drawn | drawn for name, drawn in fields.items()}
    return st.fixed_dictionaries({}, optional=values) | st.fixed_dictionaries(
        {}, optional=values | unknown
    )


def full(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """Draw a map with all of these fields."""
    return st.fixed_dictionaries(fields)


def named(entry: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Draw a map of entries by name."""
    return st.dictionaries(NAMES, entry | entry | st.none(), max_size=2)


EDGES = {"opens": MOMENTS, "closes": MOMENTS}
CRON_JOBS = some(open=NAMES, close=NAMES)
WINDOWS = full(**EDGES) | some(**EDGES, duration=DURATIONS, description=TEXTS, cronJobs=CRON_JOBS)
FREEZES = full(starts=MOMENTS, duration=DURATIONS, reason=TEXTS) | some(
    starts=MOMENTS, ends=MOMENTS, reason=TEXTS
)
OVERRIDES = full(state=CHOICES, ends=MOMENTS, reason=TEXTS) | some(
    state=CHOICES, starts=MOMENTS, ticket=TEXTS
)
LISTED = st.lists(NAMES, max_size=2)
TARGETS = full(kind=st.sampled_from(["Kustomization", "CronJob"]), names=LISTED) | some(
    kind=st.sampled_from(["Kustomization", "Alert", "Rollout", ""]),
    names=LISTED,
    matchLabels=st.dictionaries(st.sampled_from(["why", "", " "]), TEXTS, max_size=2),
    namespace=NAMES,
    apiVersion=st.sampled_from(["argoproj.io/v1alpha1", "v1", "x/y/z", ""]),
    resource=NAMES,
    suspendField=st.sampled_from(["spec.paused", "status.paused", ""]),
    mustExist=st.sampled_from([True, False, "true", "yes", 1]),
)
SPECS = {
    "windows": named(WINDOWS),
    "freezes": named(FREEZES),
    "overrides": named(OVERRIDES),
    "outsideWindows": CHOICES,
    "state": CHOICES,
    "closesEarly": DURATIONS | st.just("auto"),
    "interval": st.sampled_from(["5m", "7m", "60m", "1h", ""]),
    "firstApply": CHOICES,
    "actuator": some(
        type=st.sampled_from(["Gate", "Kubectl"]),
        image=st.sampled_from(
            ["python:3.13", "r:5000/p", f"p@sha256:{'0' * 64}", "p:latest", "a b:1"]
        ),
        imagePullPolicy=st.sampled_from(["Always", "always"]),
        imagePullSecrets=st.lists(NAMES, max_size=1),
    ),
    "formerNames": st.lists(st.sampled_from(["a/b", "a", "a/b/c", "A/b"]), max_size=1),
    "released": st.lists(TARGETS, max_size=1),
    "adoptUntil": MOMENTS,
}
BASE = {
    "timeZone": "Europe/Berlin",
    "targets": [{"kind": "Kustomization", "names": ["apps"]}],
    "windows": {"week": {"opens": "Mon 08:00", "closes": "Thu 17:00"}},
}
PATCHED = {name: SPECS[name] for name in ("windows", "state", "actuator")}
REST = {
    "timeZone": st.sampled_from(["Etc/UTC", "", 1]),
    "targets": st.lists(TARGETS, max_size=2),
    "clusters": named(some(timeZone=st.sampled_from(["Etc/UTC", ""]), **PATCHED)),
}
METADATA = st.just({"name": "a", "namespace": "b"}) | some(
    name=NAMES, namespace=NAMES, labels=some(a=TEXTS)
)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, object]:
    """Draw a policy that is right but for a field or two."""
    changed = draw(st.lists(st.sampled_from([*SPECS, *REST]), max_size=2, unique=True))
    spec = {**BASE, **{name: draw((SPECS | REST)[name]) for name in changed}}
    api = {"apiVersion": "krm-windows.dev/v1alpha1", "kind": "WindowPolicy"}
    return {**api, "metadata": draw(METADATA), "spec": spec}


def beyond_a_schema(error: Result) -> bool:
    """Whether only the model can know: texts, and what a patch makes of the policy."""
    after_a_merge = error.path.startswith("spec.clusters.") and error.rule == "field-required"
    return after_a_merge or bool(BEYOND_A_SCHEMA.fullmatch(error.rule))


def agree(node: object) -> None:
    """Assert that schema and model give one verdict, but for what only the model can know."""
    assert isinstance(node, Mapping)
    errors = [result for result in load(node).results if result.severity == "error"]
    refused = [error.message for error in VALIDATOR.iter_errors(value(node))]
    sayable = [error for error in errors if not beyond_a_schema(error)]
    assert errors or not refused, (refused[:3], value(node))
    assert refused or not sayable, ([str(error) for error in sayable], value(node))


@given(policies())
@settings(max_examples=examples(300))
def test_schema_and_model_accept_the_same(policy: dict[str, object]) -> None:
    """Whatever is in a policy, they agree on it as far as a schema can say it."""
    agree(KubeObject.from_value(policy).node)
