"""What delivers the windows: live, and in front of what they gate."""

import pytest

from krm_windows.checks import delivery
from krm_windows.gate.timetable import Target
from krm_windows.krm import KubeObject

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
SOURCE = "source.toolkit.fluxcd.io"
DELIVERING = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: windows, namespace: flux-system}
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: fleet}
  dependsOn: [{name: namespaces}]
"""


def gating(kind: str, namespace: str, name: str) -> list[Target]:
    group = KUSTOMIZE if kind == "Kustomization" else SOURCE
    return [
        Target(group=group, resource=f"{kind.lower()}s", kind=kind, namespace=namespace, name=name)
    ]


def fired(text: str, targets: list[Target]) -> list[tuple[str, str]]:
    found = delivery.hindered(KubeObject.parse(text.encode()), targets)
    return [(result.tags["rule"], result.field.path) for result in found if result.field]


@pytest.mark.parametrize(
    ("field", "value"), [("suspend", "true"), ("prune", "false"), ("targetNamespace", "shop")]
)
def test_fields_that_keep_windows_from_arriving(field: str, value: str) -> None:
    assert fired(f"{DELIVERING}  {field}: {value}\n", []) == [("delivery-field", f"spec.{field}")]
    assert fired(f"{DELIVERING}  suspend: false\n  prune: true\n", []) == []


@pytest.mark.parametrize(
    ("target", "field"),
    [
        (("Kustomization", "flux-system", "windows"), "metadata.name"),
        (("GitRepository", "flux-system", "fleet"), "spec.sourceRef"),
        (("Kustomization", "flux-system", "namespaces"), "spec.dependsOn"),
    ],
)
def test_nothing_in_the_chain_may_be_gated(target: tuple[str, str, str], field: str) -> None:
    assert fired(DELIVERING, gating(*target)) == [("self-lock", field)]
