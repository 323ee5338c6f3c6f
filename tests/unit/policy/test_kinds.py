"""Kinds that are never a target: privileged ones, and those that are cluster-scoped."""

import json

import pytest
from calls import call, loaded, spec, wire

from krm_windows import gateable

OWN = "names: [a], mustExist: false, suspendField: spec.paused, trueMeans: Closed"


def fields(kind: str, api_version: str, resource: str) -> str:
    return f"{{kind: {kind}, apiVersion: {api_version}, resource: {resource}, {OWN}}}"


def errors(target: str, field: str = "targets") -> list[tuple[str, str]]:
    return [(each.rule, each.path) for each in loaded(spec(**{field: f"[{target}]"})).results]


PRIVILEGED = [
    ("Secret", "v1", "secrets"),
    ("ServiceAccount", "v2", "serviceaccounts"),
    ("Secret", "core/v1", "secrets"),
    ("Role", "rbac.authorization.k8s.io/v1", "roles"),
    ("X", "admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    ("ValidatingPolicy", "policies.kyverno.io/v1", "validatingpolicies"),
    # The name of a kind that can be gated changes nothing: the rights are on the resource.
    ("Kustomization", "v1", "secrets"),
    ("HelmRelease", "rbac.authorization.k8s.io/v1", "rolebindings"),
]
CLUSTER_SCOPED = [
    ("NodePool", "karpenter.sh/v1", "nodepools"),
    ("X", "karpenter.sh/v1", "nodepools"),
    ("EC2NodeClass", "karpenter.k8s.aws/v1", "ec2nodeclasses"),
    ("Bucket", "s3.aws.upbound.io/v1beta1", "buckets"),
    ("SidecarSet", "apps.kruise.io/v1alpha1", "sidecarsets"),
    ("X", "apps.kruise.io/v1alpha1", "sidecarsets"),
]
NAMESPACED = [
    ("Deployment", "apps/v1", "deployments"),
    ("ExternalSecret", "external-secrets.io/v1", "externalsecrets"),
    ("NodePool", "hypershift.openshift.io/v1beta1", "nodepools"),
    ("Bucket", "s3.aws.m.upbound.io/v1beta1", "buckets"),
    ("BroadcastJob", "apps.kruise.io/v1alpha1", "broadcastjobs"),
    ("Role", "notkyverno.io/v1", "roles"),
]


@pytest.mark.parametrize("field", ["targets", "released"])
@pytest.mark.parametrize(
    ("rule", "at", "kinds"),
    [
        ("target-privileged", "apiVersion", PRIVILEGED),
        ("target-cluster-scoped", "kind", CLUSTER_SCOPED),
    ],
)
def test_it_is_refused_by_its_group_its_name_or_its_resource(
    rule: str, at: str, kinds: list[tuple[str, str, str]], field: str
) -> None:
    for kind in kinds:
        assert errors(fields(*kind), field) == [(rule, f"spec.{field}[0].{at}")], kind


@pytest.mark.parametrize("kind", NAMESPACED)
def test_another_kind(kind: tuple[str, str, str]) -> None:
    assert errors(fields(*kind)) == []


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        ("target-privileged", [kind for row in gateable.PRIVILEGED for kind in row.kinds]),
        ("target-cluster-scoped", [row.kind for row in gateable.KINDS if row.scope == "Cluster"]),
    ],
)
def test_without_an_api_version(rule: str, kinds: list[str]) -> None:
    """No message sends its author to `apiVersion`, with which the kind would be refused as well."""
    for kind in kinds:
        assert errors(f"{{kind: {kind}, names: [a]}}") == [(rule, "spec.targets[0].kind")]


@pytest.mark.parametrize("field", ["targets", "released"])
@pytest.mark.parametrize(
    ("scope", "want"), [("Cluster", ["target-cluster-scoped"]), ("Namespaced", [])]
)
@pytest.mark.parametrize("kind", ["Fleet", "X"])
def test_a_definition_says_the_scope(scope: str, want: list[str], field: str, kind: str) -> None:
    names = {"kind": "Fleet", "plural": "fleets"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "fleets.example.org"},
        "spec": {"group": "example.org", "scope": scope, "names": names},
    }
    for group, wanted in (("example.org/v1", want), ("other.example.org/v1", [])):
        config = spec(**{field: f"[{fields(kind, group, 'fleets')}]"})
        found = call(wire(f"{json.dumps(definition)}\n", config=config)).results
        assert [each["tags"]["rule"] for each in found if each["severity"] == "error"] == wanted
