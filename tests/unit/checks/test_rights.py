"""What is judged of the rights, tenants and accounts that come with policies of a repository."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from calls import call, wire
from flux_texts import checked, config_map, kustomization, lay, policy

from krm_windows.cli import main

Judged = Callable[..., list[str]]
FLUX, TENANT = "clusters/north/flux.yaml", "tenant/policy.yaml"
BESIDE = {"tenant/kustomization.yaml": "resources: []\ntransformers: [policy.yaml]\n"}
ELSEWHERE = policy(spec="  crossNamespaceTargets: Allow\n").replace(
    "names: [windowed]", "namespace: flux-system, names: [windowed]"
)
ELSEWHERE = ELSEWHERE.replace(
    "name: window, namespace: flux-system", "name: window, namespace: shop"
)


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judged:
    def check(files: dict[str, str], *options: str) -> list[str]:
        lay(tmp_path, {"windowed/windowed.yaml": config_map("w"), **BESIDE, **files})
        found = [each["tags"]["rule"] for each in checked(tmp_path, capsys, *options)]
        return [rule for rule in found if rule.startswith(("target-e", "admission"))]

    return check


def delivered(spec: str = "", **more: str) -> dict[str, str]:
    return {
        FLUX: kustomization("windowed") + kustomization("tenant", spec, **more),
        TENANT: ELSEWHERE,
    }


TENANTS = {
    "an account": delivered("  serviceAccountName: shop\n"),
    "a namespace": {
        FLUX: kustomization("windowed")
        + kustomization("tenant").replace(
            "name: tenant, namespace: flux-system", "name: tenant, namespace: shop"
        ),
        TENANT: ELSEWHERE,
    },
    "a parent's account": {
        FLUX: kustomization("windowed") + kustomization("above", "  serviceAccountName: shop\n"),
        "above/flux.yaml": kustomization("tenant"),
        TENANT: ELSEWHERE,
    },
    "the namespace that a tenant applies to": {
        FLUX: kustomization("windowed")
        + kustomization("tenant")
        + kustomization("other", "  serviceAccountName: shop\n  targetNamespace: shop\n"),
        "other/o.yaml": config_map("o"),
        TENANT: ELSEWHERE,
    },
}


@pytest.mark.parametrize("files", TENANTS.values(), ids=TENANTS)
def test_a_tenant_is_not_believed(files: dict[str, str], judged: Judged) -> None:
    assert "target-elsewhere" in judged(files, "--allow-cross-namespace", "other")
    assert "target-elsewhere" not in judged(
        files, "--allow-cross-namespace", "other", "--allow-cross-namespace", "shop"
    )


@pytest.mark.parametrize("account", ["", "  serviceAccountName: kustomize-controller\n"])
def test_the_platform_is_believed(account: str, judged: Judged) -> None:
    assert judged(delivered(account)) == []


def test_a_policy_has_to_say_so(
    judged: Judged, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    silent = ELSEWHERE.replace("  crossNamespaceTargets: Allow\n", "")
    judged({**delivered(), TENANT: silent})
    assert main(["check", str(tmp_path / TENANT)]) == 1
    assert "crossNamespaceTargets: Allow" in capsys.readouterr().out


def test_what_was_rendered_shows_whether_it_is_held(judged: Judged) -> None:
    items = call(wire(config=policy())).objects
    rendered = {FLUX: kustomization("windowed")}

    def applied(*kinds: str) -> str:
        return yaml.dump_all(
            [item for item in items if item["kind"] not in kinds], Dumper=yaml.CSafeDumper
        )

    assert judged({**rendered, "clusters/north/windows.yaml": applied()}) == []
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        assert judged({**rendered, "clusters/north/windows.yaml": applied(kind)}) == [
            "admission-disabled"
        ]
