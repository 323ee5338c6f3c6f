"""How objects differ, and which images they run."""

from collections.abc import Mapping

import pytest

from krm_windows.flux import Object
from krm_windows.krm import KubeObject
from krm_windows.pending.between import Kind, ObjectChange
from krm_windows.pending.objects import Objects, charts, compare, images, is_image

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  template:
    spec:
      initContainers: [{name: wait, image: "busybox:1"}]
      containers: [{name: web, image: "web:1"}, {name: side, image: "side:1"}]
      volumes: [{name: model, image: {reference: "model:1"}}]
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.b.dev}
spec: {containers: [{image: "none:1"}]}
"""


def objects(*texts: str) -> Objects:
    """Return objects by their identity."""
    found = [Object.of(KubeObject.parse(text.encode())) for text in texts]
    return {each.identity: each for each in found}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, None),
        ({"replicas: 1": "replicas: 2"}, ("spec.replicas",)),
        # Another way to write the same.
        ({"replicas: 1": "replicas: 0x1"}, None),
        ({"replicas: 1": "replicas: '1'"}, ("spec.replicas",)),
        ({"web:1": "web:2"}, ("spec.template.spec.containers[web].image",)),
        (
            {'{name: web, image: "web:1"}, ': "", "busybox:1": "busybox:2"},
            (
                "spec.template.spec.initContainers[wait].image",
                "spec.template.spec.containers[web]",
            ),
        ),
        (
            {"{name: web, namespace": "{annotations: {a.dev/b: c}, name: web, namespace"},
            ("metadata.annotations",),
        ),
        # What kustomize notes of the file is none of the object.
        (
            {
                "{name: web, namespace": (
                    '{annotations: {config.kubernetes.io/origin: "path: b.yaml"}, name: web, '
                    "namespace"
                )
            },
            None,
        ),
    ],
)
def test_a_change(change: Mapping[str, str], fields: tuple[str, ...] | None) -> None:
    """It has the paths that differ; the order of entries with names is none."""
    text = WEB
    for old, new in change.items():
        text = text.replace(old, new)
    expected: tuple[ObjectChange, ...] = ()
    if fields is not None:
        expected = (ObjectChange(Kind.CHANGED, "Deployment shop/web", fields),)
    assert compare(objects(WEB), objects(text)) == expected


def test_what_comes_and_goes() -> None:
    """In the order of kinds and names."""
    found = compare(objects(WEB), objects(CRD))
    assert found == (
        ObjectChange(Kind.ADDED, "CustomResourceDefinition a.b.dev"),
        ObjectChange(Kind.REMOVED, "Deployment shop/web"),
    )


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("[1, 2]", "[1, 3]", "spec.list[1]"),
        ("[1, 2]", "[1]", "spec.list"),
        ("[{name: a}, {name: a}]", "[{name: a}, {name: b}]", "spec.list[1].name"),
        ("{a.b/c: 1}", "{a.b/c: 2}", "spec.list[a.b/c]"),
        ("1", "true", "spec.list"),
        ("null", "{}", "spec.list"),
    ],
)
def test_a_field_that_differs(old: str, new: str, field: str) -> None:
    """Entries are known by their names where each has one, else by their place."""
    head = "apiVersion: a.dev/v1\nkind: A\nmetadata: {name: a}\nspec: {list: "
    [change] = compare(objects(f"{head}{old}}}\n"), objects(f"{head}{new}}}\n"))
    assert change.fields == (field,)


def test_far_inside_the_order_of_keys_says_nothing() -> None:
    """Where a path would be too long to be read, values are compared as a whole."""
    head = "apiVersion: a.dev/v1\nkind: A\nmetadata: {name: a}\nspec: " + "{a: " * 110

    def made(inside: str) -> Objects:
        return objects(f"{head}{inside}{'}' * 110}\n")

    assert compare(made("{x: 1, y: [2]}"), made("{y: [2], x: 1}")) == ()
    for other in ("{x: 1, y: [true]}", "{x: 1, y: [2, 2]}", "{x: 1}", "{x: true, y: [2]}", "[1]"):
        assert len(compare(made("{x: 1, y: [2]}"), made(other))) == 1


def test_images() -> None:
    """Of every kind of container, and of volumes; a schema has none."""
    assert images(objects(WEB, CRD).values()) == {"busybox:1", "web:1", "side:1", "model:1"}
    odd = WEB.replace("containers: [{name: web", "containers: [7, {image: 7}, {name: web")
    assert images(objects(odd).values()) == {"busybox:1", "web:1", "side:1", "model:1"}


def test_releases_whose_images_are_not_known() -> None:
    """Those that are new or change."""
    head = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: "
    same, old, new, gone, more = (
        f"{head}{name}, namespace: shop}}\nspec: {{interval: {interval}}}\n"
        for name, interval in (("a", 1), ("b", 1), ("b", 2), ("c", 1), ("d", 1))
    )
    found = charts(objects(same, old, gone, WEB), objects(same, new, more))
    assert [*found] == ["HelmRelease shop/b", "HelmRelease shop/d"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("busybox", True),
        ("registry.example:5000/shop/web:1.2_3-a", True),
        (f"ghcr.io/shop/web@sha256:{'0' * 64}", True),
        ("--all", False),
        ("web:1\nother:2", False),
        ("web:1\n", False),
        ("${IMAGE}", False),
        ("web:1 other:2", False),
        ("a" * 513, False),
        ("", False),
    ],
)
def test_the_name_of_an_image(text: str, *, expected: bool) -> None:
    """It is one word, as a program takes it, and no option of one."""
    assert is_image(text) is expected
