"""What is generated from the models: it is committed, and says what they say.

That schema and model take the same is a law, in tests/property/test_policy_shapes.py.
"""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from catalogue import files, schema

from krm_windows.classes.load import load as load_classes
from krm_windows.classes.model import ChangeClasses
from krm_windows.krm import KubeObject
from krm_windows.krm.nodes import value
from krm_windows.policy.load import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.policy.parts import Part

FOLDER = Path(__file__).parents[3] / "function-config/examples"
CLASSES = "change-classes"
EXAMPLES = [path for path in sorted(FOLDER.glob("*.yaml")) if path.stem != CLASSES]
DIALECT = jsonschema.Draft202012Validator
DEFINED = [
    (files.WINDOW_POLICY, WindowPolicy, "windowpolicies"),
    (files.CHANGE_CLASSES, ChangeClasses, "changeclasses"),
]


@pytest.mark.parametrize(("defined", "model", "plural"), DEFINED)
def test_the_schema_is_one(defined: files.Kind, model: type[Part], plural: str) -> None:
    """Every level of the OpenAPI schema has one type, as apiextensions demands."""
    assert json.loads(defined.json_schema()) == schema.json_schema(model)
    definition = yaml.load(defined.definition(), yaml.CSafeLoader)
    levels = [definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]]
    for written in (schema.json_schema(model), schema.open_api(model), levels[0]):
        DIALECT.check_schema(written)
    assert definition["metadata"]["name"] == f"{plural}.krm-windows.dev"
    for node in levels:
        assert isinstance(node.get("type"), str), node
        below = [*node.get("properties", {}).values(), node.get("items")]
        levels += filter(None, [*below, node.get("additionalProperties")])
    assert len(levels) > 30


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_right(path: Path) -> None:
    node = KubeObject.parse(path.read_bytes()).node
    loaded = load(node)
    assert loaded.results == ()
    assert all(loaded.clusters.values())
    DIALECT(schema.json_schema(WindowPolicy)).validate(value(node))


def test_the_example_of_classes_is_right() -> None:
    text = (FOLDER / f"{CLASSES}.yaml").read_text()
    empty = text.replace("      app.kubernetes.io/part-of: dashboards", "      {}")
    assert empty != text
    for each in (text, empty):
        node = KubeObject.parse(each.encode()).node
        classes, results = load_classes(node)
        assert classes is not None
        assert results == []
        DIALECT(schema.json_schema(ChangeClasses)).validate(value(node))
