"""Which objects differ, and how."""

import pytest

from krm_windows.flux import Object
from krm_windows.krm import KubeObject
from krm_windows.pending.between import Kind, ObjectChange
from krm_windows.pending.objects import Objects, compare

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 1, template: {spec: {containers: [{name: web, image: "web:1"}]}}}
"""
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.b.dev}
"""
# What kustomize notes of the file is none of the object.
ORIGIN = '{annotations: {config.kubernetes.io/origin: "path: b.yaml"}, name: web, namespace'


def objects(*texts: str) -> Objects:
    found = [Object.of(KubeObject.parse(text.encode())) for text in texts]
    return {each.identity: each for each in found}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("web", "web", False),
        ("replicas: 1", "replicas: 2", True),
        # Another way to write the same.
        ("replicas: 1", "replicas: 0x1", False),
        ("replicas: 1", "replicas: '1'", True),
        ("{name: web, namespace", "{annotations: {a.dev/b: c}, name: web, namespace", True),
        ("{name: web, namespace", ORIGIN, False),
        ('name: web, image: "web:1"', 'image: "web:1", name: web', False),
    ],
)
def test_a_change(old: str, new: str, *, changes: bool) -> None:
    expected = [ObjectChange(Kind.CHANGED, "Deployment shop/web")] if changes else []
    assert [*compare(objects(WEB), objects(WEB.replace(old, new)))] == expected


def test_what_comes_and_goes() -> None:
    assert [*compare(objects(WEB), objects(CRD))] == [
        ObjectChange(Kind.ADDED, "CustomResourceDefinition a.b.dev"),
        ObjectChange(Kind.REMOVED, "Deployment shop/web"),
    ]
