"""Whatever shape is at whatever place of the API.

Loading says what is wrong, and raises nothing.
"""

from collections.abc import Iterator, Mapping

import pytest
from catalogue import schema
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_windows import krm
from krm_windows.classes import load as classes
from krm_windows.classes.model import ChangeClasses
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
Path = tuple[str | int, ...]


def paths(node: object, above: Path = ()) -> Iterator[Path]:
    if not isinstance(node, Mapping):
        return
    yield above
    for name, inner in node.get("properties", {}).items():
        yield from paths(inner, (*above, name))
    yield from paths(node.get("items"), (*above, 0))
    yield from paths(node.get("additionalProperties"), (*above, "x"))


def put(document: object, path: Path, shape: object) -> object:
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_shape_at_every_place(kind: str) -> None:
    document, places = KINDS[kind]
    assert not [
        result for result in found(kind, document) if result.tags["rule"] != "cluster-unknown"
    ]
    said = 0
    for path in places:
        for shape in SHAPES:
            try:
                said += bool(found(kind, put(document, path, shape)))
            except Exception as error:
                raise AssertionError(f"{shape!r} at {path}") from error
    assert said > len(places)


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
