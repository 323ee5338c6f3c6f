"""The JSON Schema of ChangeClasses and its model agree.

What is generated from them is right.
"""

from pathlib import Path

import jsonschema
import pytest
import yaml
from catalogue import files as catalogue
from catalogue import schema
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_windows.classes.load import load
from krm_windows.classes.model import ChangeClasses
from krm_windows.krm import KubeObject
from krm_windows.krm.nodes import Mapping, value
from krm_windows.results import Result

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "function-config/examples/change-classes.yaml"
VALIDATOR = jsonschema.Draft202012Validator(schema.json_schema(ChangeClasses))
# What hangs on names elsewhere in the object is more than a schema can say.
BEYOND_A_SCHEMA = {"class-duplicate", "class-unknown", "rule-empty", "rule-unreachable"}


def test_the_example_is_right() -> None:
    """It satisfies schema and model, also with an empty map, which demands nothing."""
    text = EXAMPLE.read_text()
    empty = text.replace("      app.kubernetes.io/part-of: dashboards", "      {}")
    assert empty != text
    for each in (text, empty):
        node = KubeObject.parse(each.encode()).node
        classes, results = load(node)
        assert classes is not None
        assert results == []
        VALIDATOR.validate(value(node))


def test_the_schema_is_one() -> None:
    """It is valid against its own dialect, as is what it says of OpenAPI."""
    jsonschema.Draft202012Validator.check_schema(schema.json_schema(ChangeClasses))
    definition = yaml.load(catalogue.CHANGE_CLASSES.definition(), yaml.CSafeLoader)
    jsonschema.Draft202012Validator.check_schema(
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    )
    assert definition["metadata"]["name"] == "changeclasses.krm-windows.dev"


NAMES = st.sampled_from(["live", "window", "A", "a_b", "", 7, None])
GLOBS = (
    st.lists(st.sampled_from(["web", "dash-*", "*", "a?", "", "a/b", 5]), max_size=2) | st.none()
)
KINDS = st.lists(
    st.sampled_from(["ConfigMap", "configmap", "Service.serving.knative.dev", "A/b", ""]),
    max_size=2,
)
MAPS = st.dictionaries(
    st.sampled_from(["a", "b/c"]), st.sampled_from(["x", "", 5, True]), max_size=2
)
ADDRESSES = st.sampled_from(
    ["Deployment/shop/api", "Namespace/shop", "Deployment/*/web-*", "shop/api", "a", "", 5]
)
RULES = st.fixed_dictionaries(
    {"class": NAMES},
    optional={
        "kinds": KINDS,
        "names": GLOBS,
        "namespaces": GLOBS,
        "matchLabels": MAPS,
        "matchAnnotations": MAPS,
        "other": st.just("x"),
    },
)
ACKNOWLEDGEMENTS = st.fixed_dictionaries(
    {"from": ADDRESSES, "to": ADDRESSES}, optional={"reason": st.sampled_from(["why", "", 5])}
)
SPECS = st.fixed_dictionaries(
    {
        "classes": st.just([{"name": "live"}, {"name": "window"}])
        | st.lists(
            st.fixed_dictionaries(
                {"name": NAMES}, optional={"policy": st.sampled_from(["a/b", "a"])}
            ),
            max_size=2,
        ),
        "default": st.just("window") | NAMES,
    },
    optional={
        "rules": st.lists(RULES, max_size=2),
        "acknowledge": st.lists(ACKNOWLEDGEMENTS, max_size=1),
        "keep": NAMES,
    },
)


def found(spec: object) -> tuple[Mapping, list[Result]]:
    """Return classes as nodes, and what is wrong with them."""
    api = {"apiVersion": "krm-windows.dev/v1alpha1", "kind": "ChangeClasses"}
    node = KubeObject.from_value({**api, "metadata": {"name": "c"}, "spec": spec}).node
    assert isinstance(node, Mapping)
    return node, load(node)[1]


@given(SPECS)
@settings(max_examples=examples(300))
def test_schema_and_model_accept_the_same(spec: dict[str, object]) -> None:
    """Whatever is in the classes, they agree on it as far as a schema can say it."""
    node, errors = found(spec)
    refused = [error.message for error in VALIDATOR.iter_errors(value(node))]
    sayable = [error for error in errors if error.tags["rule"] not in BEYOND_A_SCHEMA]
    assert errors or not refused, (refused[:3], spec)
    assert refused or not sayable, ([str(error) for error in sayable], spec)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kinds: [configmap]", "kinds[0]: must be a kind such as ConfigMap or Service.serving"),
        ("names: ['web?']", "names[0]: must be a name; * matches any characters, got"),
        ("name: [web]", 'name: unknown field; did you mean "names"?'),
        ("names: []", "names: must not be empty"),
    ],
)
def test_mistakes_are_reported_in_words(text: str, said: str) -> None:
    """Where it is, what must hold, what is known."""
    rule = {"class": "live", **yaml.load(text, yaml.CSafeLoader)}
    errors = found({"classes": [{"name": "live"}], "default": "live", "rules": [rule]})[1]
    assert f"spec.rules[0].{said}" in "\n".join(map(str, errors))
