"""Bonds are found between classes, by every name that an object goes by."""

import pytest

from krm_windows.classes import cross_references
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import divide
from krm_windows.krm import KubeObject

SPEC = {
    "classes": [{"name": "live"}, {"name": "window"}],
    "default": "window",
    "rules": [{"class": "live", "kinds": ["ConfigMap"]}],
}
HASH = "env-4h2mbtbbt6"
INTERNAL = "internal.config.kubernetes.io"


def config_map(name: str, namespace: str = "shop", **internal: str) -> dict[str, object]:
    marks = {f"{INTERNAL}/{key}": text for key, text in internal.items()}
    metadata = {"name": name, "namespace": namespace, **({"annotations": marks} if marks else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def pod(name: str, namespace: str = "shop", **internal: str) -> dict[str, object]:
    containers = [{"name": "a", "envFrom": [{"configMapRef": {"name": name}}]}]
    web = config_map("web", namespace, **internal)
    return {**web, "kind": "Pod", "spec": {"containers": containers}}


def release(values: str) -> dict[str, object]:
    app = {"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "app"}}
    return {**app, "spec": {"from": [values]}}


def found(*stream: dict[str, object], **spec: object) -> list[tuple[str, str, str]]:
    partition = divide(Spec.read(SPEC | spec), map(KubeObject.from_value, stream))
    results, _ = cross_references.check(Spec.read(SPEC | spec), partition)
    return [
        (result.tags["rule"], result.field.path, result.field.current_value)
        for result in results
        if result.field
    ]


FIELD = "spec.containers[0].envFrom[0].configMapRef.name"
EARLIER, RENAMED = "reference-to-earlier-class", "reference-renamed"


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        ([pod("env"), config_map("env")], [(EARLIER, FIELD, "env")]),
        ([pod("env"), config_map("env", "other")], []),
        ([pod("env"), config_map("env", "")], [(EARLIER, FIELD, "env")]),
        ([pod("env", ""), config_map("env")], [(EARLIER, FIELD, "env")]),
        ([pod("other"), config_map("env")], []),
        ([pod(HASH), config_map(HASH)], [(RENAMED, FIELD, HASH)]),
        ([pod(HASH), config_map(HASH, "other")], []),
        ([release(HASH), config_map(HASH)], [(RENAMED, "spec.from[0]", HASH)]),
        ([release("env"), config_map("env")], []),
        ([release(f"{HASH}-x"), config_map(HASH)], []),
    ],
)
def test_a_reference_into_another_class(
    stream: list[dict[str, object]], said: list[tuple[str, str, str]]
) -> None:
    assert found(*stream) == said


def test_within_a_class_there_is_nothing_to_say() -> None:
    assert found(pod(HASH), config_map(HASH), rules=[]) == []


def test_the_other_way_round_it_is_ahead() -> None:
    """What is applied at once needs what waits."""
    rules = [{"class": "live", "kinds": ["Pod"]}]
    assert found(pod("env"), config_map("env"), rules=rules) == [
        ("reference-to-later-class", FIELD, "env")
    ]


@pytest.mark.parametrize(
    ("referrer", "to"),
    [
        ("Pod/shop/web", "ConfigMap/shop/env"),
        ("Pod/*/*", "ConfigMap/*/*"),
        ("Pod/shop/w*", "ConfigMap/sh*/env"),
    ],
)
def test_an_acknowledged_one_is_meant(referrer: str, to: str) -> None:
    known = [{"from": referrer, "to": to, "reason": "why not"}]
    assert found(pod("env"), config_map("env"), acknowledge=known) == []
    assert found(pod(HASH), config_map(HASH), acknowledge=known) == []
    assert found(pod("env", "x"), config_map("envy", "x"), pod("env"), acknowledge=known) == []


def test_of_several_that_had_a_name_the_one_with_the_same_prefix_is_meant() -> None:
    """So a base that is built twice has no references across."""
    own = config_map("a-env", previousNames="env", prefixes="a-")
    other = config_map("b-env", previousNames="env", prefixes="b-")
    assert found(pod("env", prefixes="a-"), own, other) == [(EARLIER, FIELD, "a-env")]
    assert found(pod("env", prefixes="a-"), own, other, keep="live") == [(RENAMED, FIELD, "a-env")]


def test_an_acknowledgement_of_objects_elsewhere_is_left_alone() -> None:
    """One file serves many bases; what is here and has no such reference is a mistake."""
    known = [{"from": "Pod/shop/web", "to": "ConfigMap/shop/env", "reason": "why not"}]
    spec = Spec.read(SPEC | {"acknowledge": known})

    def unused(*stream: dict[str, object]) -> list[str]:
        partition = divide(spec, map(KubeObject.from_value, stream))
        return [finding.path for finding in cross_references.check(spec, partition)[1]]

    assert unused(config_map("other")) == []
    assert unused(pod("env"), config_map("env")) == []
    assert unused(pod("other"), config_map("env")) == ["spec.acknowledge[0]"]
