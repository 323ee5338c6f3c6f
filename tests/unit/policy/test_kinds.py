"""Kinds that are never a target: privileged ones, and those that are cluster-scoped."""

import json

import pytest
from calls import call, spec, wire

from krm_windows import gateable

OWN = "names: [a], mustExist: false, suspendField: spec.paused, trueMeans: Closed"


def fields(kind: str, api_version: str, resource: str) -> str:
    """Write a target that says itself where its objects are."""
    return f"kind: {kind}, apiVersion: {api_version}, resource: {resource}, {OWN}"


def errors(target: str, field: str = "targets", *items: str) -> list[tuple[str, str]]:
    """Return the rule and the path of each error of a policy with one such entry."""
    results = call(wire(*items, config=spec(**{field: f"[{{{target}}}]"}))).results
    return [
        (found["tags"]["rule"], found["field"]["path"])
        for found in results
        if found["severity"] == "error"
    ]


PRIVILEGED = [
    ("Secret", "v1", "secrets"),
    ("Pod", "v1", "pods"),
    ("ServiceAccount", "v2", "serviceaccounts"),
    ("Secret", "core/v1", "secrets"),
    ("Role", "rbac.authorization.k8s.io/v1", "roles"),
    ("TokenReview", "authentication.k8s.io/v1", "tokenreviews"),
    ("SubjectAccessReview", "authorization.k8s.io/v1", "subjectaccessreviews"),
    ("CertificateSigningRequest", "certificates.k8s.io/v1", "certificatesigningrequests"),
    ("X", "admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
    ("X", "apiextensions.k8s.io/v1", "customresourcedefinitions"),
    ("APIService", "apiregistration.k8s.io/v1", "apiservices"),
    ("Policy", "kyverno.io/v1", "policies"),
    ("ValidatingPolicy", "policies.kyverno.io/v1", "validatingpolicies"),
    ("K8sRequiredLabels", "constraints.gatekeeper.sh/v1", "k8srequiredlabels"),
    # The name of a kind that can be gated changes nothing: the rights are on the resource.
    ("Kustomization", "v1", "secrets"),
    ("HelmRelease", "rbac.authorization.k8s.io/v1", "rolebindings"),
]
CLUSTER_SCOPED = [
    ("NodePool", "karpenter.sh/v1", "nodepools"),
    ("X", "karpenter.sh/v1", "nodepools"),
    ("EC2NodeClass", "karpenter.k8s.aws/v1", "ec2nodeclasses"),
    ("Provider", "pkg.crossplane.io/v1", "providers"),
    ("CronOperation", "ops.crossplane.io/v1alpha1", "cronoperations"),
    ("Bucket", "s3.aws.upbound.io/v1beta1", "buckets"),
    ("Release", "helm.crossplane.io/v1beta1", "releases"),
    ("MachineConfigPool", "machineconfiguration.openshift.io/v1", "machineconfigpools"),
    ("SidecarSet", "apps.kruise.io/v1alpha1", "sidecarsets"),
    ("X", "apps.kruise.io/v1alpha1", "sidecarsets"),
]
NAMESPACED = [
    ("Deployment", "apps/v1", "deployments"),
    ("JobSet", "jobset.x-k8s.io/v1alpha2", "jobsets"),
    ("ExternalSecret", "external-secrets.io/v1", "externalsecrets"),
    ("SopsSecret", "isindir.github.com/v1alpha3", "sopssecrets"),
    ("NodePool", "hypershift.openshift.io/v1beta1", "nodepools"),
    ("Bucket", "s3.aws.m.upbound.io/v1beta1", "buckets"),
    ("BroadcastJob", "apps.kruise.io/v1alpha1", "broadcastjobs"),
    ("Role", "notkyverno.io/v1", "roles"),
]


@pytest.mark.parametrize("field", ["targets", "released"])
@pytest.mark.parametrize("kind", PRIVILEGED)
def test_a_privileged_kind(kind: tuple[str, str, str], field: str) -> None:
    """It is refused by its group, whatever its name."""
    path = f"spec.{field}[0].apiVersion"
    assert errors(fields(*kind), field) == [("target-privileged", path)]


@pytest.mark.parametrize("field", ["targets", "released"])
@pytest.mark.parametrize("kind", CLUSTER_SCOPED)
def test_a_cluster_scoped_kind(kind: tuple[str, str, str], field: str) -> None:
    """It is refused by its group, its name or its resource."""
    path = f"spec.{field}[0].kind"
    assert errors(fields(*kind), field) == [("target-cluster-scoped", path)]


@pytest.mark.parametrize("kind", NAMESPACED)
def test_another_kind(kind: tuple[str, str, str]) -> None:
    """What is namespaced, and has no such rights, can be a target, also if it sounds alike."""
    assert errors(fields(*kind)) == []


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        ("target-privileged", [kind for row in gateable.PRIVILEGED for kind in row.kinds]),
        (
            "target-cluster-scoped",
            [row.kind for row in gateable.KINDS if row.scope == "Cluster"],
        ),
    ],
)
def test_without_an_api_version(rule: str, kinds: list[str]) -> None:
    """No message sends its author to `apiVersion`, with which the kind would be refused as well."""
    for kind in kinds:
        assert errors(f"kind: {kind}, names: [a]") == [(rule, "spec.targets[0].kind")]


def test_the_patch_of_a_cluster() -> None:
    """It cannot bring one in, and is where the error is."""
    secret = f"[{{{fields(*PRIVILEGED[0])}}}]"
    config = spec(clusters=f"{{north: {{targets: {secret}}}}}")
    found = [
        (result["tags"]["rule"], result["field"]["path"])
        for result in call(wire(config=config)).results
    ]
    assert ("target-privileged", "spec.clusters.north.targets[0].apiVersion") in found


@pytest.mark.parametrize("field", ["targets", "released"])
@pytest.mark.parametrize(
    ("scope", "want"), [("Cluster", ["target-cluster-scoped"]), ("Namespaced", [])]
)
@pytest.mark.parametrize("kind", ["Fleet", "X"])
def test_a_definition_says_the_scope(scope: str, want: list[str], field: str, kind: str) -> None:
    """Of kinds that nobody knows, where the definition is among the resources."""
    definition = json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "fleets.example.org"},
            "spec": {
                "group": "example.org",
                "scope": scope,
                "names": {"kind": "Fleet", "plural": "fleets"},
            },
        }
    )
    definition += "\n"
    found = errors(fields(kind, "example.org/v1", "fleets"), field, definition)
    assert [rule for rule, _ in found] == want
    assert errors(fields("Fleet", "other.example.org/v1", "fleets"), field, definition) == []
