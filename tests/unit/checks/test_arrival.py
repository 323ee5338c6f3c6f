"""A new cluster comes up: what belongs to windows needs nothing that waits for them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flux_texts import checked, kustomization, lay, policy

FLUX = "clusters/north/flux.yaml"
POLICY = "krm-windows.dev/policy: flux-system.window"
BLOCKED = "new-cluster-blocked"
SHOP = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n"
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: prometheusrules.monitoring.coreos.com}
spec: {group: monitoring.coreos.com, names: {kind: PrometheusRule}}
---
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: flux-system}
spec: {targetNamespace: shop, install: {createNamespace: true}}
---
"""
WAIT = "  firstApply: Wait\n"
WAITS = "  dependsOn: [{name: windows}]\n"
APART = kustomization("apart").replace("metadata: {", f"metadata: {{labels: {{{POLICY}}}, ", 1)

Blocked = Callable[[dict[str, str]], list[str]]


def ours(kind: str = "rbac.authorization.k8s.io/v1 RoleBinding", namespace: str = "shop") -> str:
    version, name = kind.split()
    metadata = f"{{name: x, namespace: {namespace}, labels: {{{POLICY}}}}}"
    return f"apiVersion: {version}\nkind: {name}\nmetadata: {metadata}\n---\n"


def foreign() -> str:
    return ours().replace(f"labels: {{{POLICY}}}", "labels: {}")


IN_FLUX = "namespace: flux-system}"
RULE = ours("monitoring.coreos.com/v1 PrometheusRule", "flux-system")


@pytest.fixture
def blocked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Blocked:
    def check(files: dict[str, str]) -> list[str]:
        lay(tmp_path, files)
        found = checked(tmp_path, capsys)
        return [each["message"] for each in found if each["tags"]["rule"] == BLOCKED]

    return check


@pytest.mark.parametrize(
    "files",
    [
        # Beside the Kustomization that creates the namespace, with which the root begins.
        {FLUX: kustomization("apps") + ours(), "apps/ns.yaml": SHOP},
        # What creates the namespace waits for them, transitively.
        {
            FLUX: kustomization("windows")
            + kustomization("infra", WAITS)
            + kustomization("apps", "  dependsOn: [{name: infra}]\n"),
            "windows/role.yaml": ours(),
            "infra/none.yaml": foreign().replace("shop", "default"),
            "apps/ns.yaml": SHOP,
        },
        # A chart creates it, whose release lies beside the Role.
        {FLUX: kustomization("apps"), "apps/all.yaml": RELEASE + ours()},
        # By themselves, but what creates the namespace waits until they are ready.
        {
            FLUX: kustomization("windows", "  wait: true\n") + kustomization("apps", WAITS),
            "windows/apart.yaml": APART,
            "apart/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
        },
        # What the windows gate is what creates it, and waits for their first opening.
        {
            FLUX: kustomization("windows") + kustomization("apps"),
            "windows/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
            "policy.yaml": policy("[apps]", spec=WAIT),
        },
        {
            FLUX: kustomization("windows") + RELEASE,
            "windows/role.yaml": ours(),
            "policy.yaml": policy("[shop]", spec=WAIT).replace(
                "{kind: Kustomization", "{kind: HelmRelease"
            ),
        },
        # Whatever the object: a kind that a CRD defines.
        {FLUX: kustomization("apps") + RULE, "apps/crd.yaml": DEFINITION},
    ],
)
def test_what_windows_need_waits_for_them(files: dict[str, str], blocked: Blocked) -> None:
    (message,) = blocked(files)
    assert "creates" in message
    assert "on a new cluster" in message


@pytest.mark.parametrize(
    "files",
    [
        # In the same Kustomization: Flux applies Namespaces and definitions first.
        {FLUX: SHOP + ours()},
        {FLUX: DEFINITION + RULE},
        # The windows gate what creates it, which is applied once before it is closed.
        {
            FLUX: kustomization("windows") + kustomization("apps"),
            "windows/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
            "policy.yaml": policy("[apps]"),
        },
        # By itself, and nothing waits for it.
        {
            FLUX: kustomization("apps") + APART,
            "apart/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
            "policy.yaml": policy("[apps]"),
        },
        # Somebody else creates it, too, who waits for nothing.
        {
            FLUX: kustomization("windows") + kustomization("apps", WAITS) + kustomization("base"),
            "windows/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
            "base/ns.yaml": SHOP,
        },
        # What the delivery of the windows depends on creates it.
        {
            FLUX: kustomization("windows", "  dependsOn: [{name: apps}]\n") + kustomization("apps"),
            "windows/role.yaml": ours(),
            "apps/ns.yaml": SHOP,
        },
        # Flux runs in it, or a Kustomization in it applies the windows: it is there, though
        # what it creates first has it as well, as many repositories do.
        {
            FLUX: kustomization("apps") + ours("v1 ServiceAccount", "flux-system"),
            "apps/ns.yaml": SHOP.replace("shop", "flux-system"),
        },
        {
            FLUX: kustomization("apps"),
            "apps/windows.yaml": kustomization("windows").replace(IN_FLUX, "namespace: shop}"),
            "windows/role.yaml": kustomization("inner").replace(IN_FLUX, "namespace: shop}")
            + ours(),
            "inner/ns.yaml": SHOP,
        },
        # So are the definitions of Flux.
        {
            FLUX: kustomization("apps") + APART,
            "apps/crd.yaml": DEFINITION.replace("prometheusrules", "kustomizations")
            .replace("monitoring.coreos.com", "kustomize.toolkit.fluxcd.io")
            .replace("PrometheusRule", "Kustomization"),
        },
        # Nobody in the repository creates it.
        {FLUX: kustomization("apps") + ours(namespace="kube-system"), "apps/ns.yaml": SHOP},
        # What belongs to no windows is its author's.
        {FLUX: kustomization("apps") + foreign(), "apps/ns.yaml": SHOP},
        # On another cluster nothing of this one creates it.
        {
            FLUX: kustomization("apps", "  kubeConfig: {secretRef: {name: spoke}}\n") + ours(),
            "apps/ns.yaml": SHOP,
        },
    ],
)
def test_what_windows_need_is_there(files: dict[str, str], blocked: Blocked) -> None:
    assert blocked(files) == []
