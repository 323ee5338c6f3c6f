"""What belongs into a namespace of somebody else is delivered by itself."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from effort import mostly_slow, rows_mostly_slow

from krm_windows.cli import main

ROOT = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/prod
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
INSTANCE = """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  sync: {kind: OCIRepository, url: "oci://registry.example/fleet", ref: latest, path: clusters/prod}
"""
APPS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 10m
  path: ./apps
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
WEB = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n" + APPS.replace(
    "name: apps, namespace: flux-system", "name: web, namespace: shop"
).replace("./apps", "./web").replace(
    "name: flux-system}", "name: flux-system, namespace: flux-system}"
)
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week
  namespace: flux-system
  annotations: {config.kubernetes.io/local-config: "true"}
spec:
  timeZone: Europe/Berlin
  crossNamespaceTargets: Allow
  targets:
  - {kind: Kustomization, names: [apps]}
  - {kind: Kustomization, namespace: shop, names: [web], mustExist: false}
  windows: {week: {opens: "Mon 08:00", closes: "Thu 17:00"}}
"""
TOGETHER = "(delivered-together)"
FLEET = POLICY + "  clusters: {prod: {}, test: {}}\n"
SYNC = "clusters/prod/flux-system/gotk-sync.yaml"


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    lay({SYNC: ROOT, "clusters/prod/apps.yaml": APPS, "apps/web.yaml": WEB})
    lay({"web/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"})
    lay({"policy.yaml": POLICY, "fleet.yaml": FLEET})


def lay(files: dict[str, str]) -> None:
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def objects(folder: str) -> list[dict[str, Any]]:
    paths = sorted(path for path in Path(folder).glob("*.yaml") if path.stem != "kustomization")
    return [yaml.safe_load(path.read_text()) for path in paths]


def namespaces(folder: str) -> set[str | None]:
    return {each["metadata"].get("namespace") for each in objects(folder)}


def delivering(folder: str) -> Iterator[dict[str, Any]]:
    for each in objects(folder):
        if each["kind"] == "Kustomization" and each["metadata"].get("labels"):
            yield each


def render(*options: str, policy: str = "policy.yaml", to: str = "clusters/prod/week") -> int:
    return main(["render", policy, "--output-dir", to, *options])


def check_apart(windows: str, path: str) -> None:
    assert namespaces(windows) <= {"flux-system", None}
    assert namespaces(f"{windows}/namespace-shop") == {"shop"}
    (found,) = delivering(windows)
    assert found["metadata"]["namespace"] == "flux-system"
    assert found["spec"] == {
        "sourceRef": found["spec"]["sourceRef"],
        "interval": "10m",
        "path": f"./{path}/namespace-shop",
        "prune": True,
        "retryInterval": "30s",
        "wait": False,
    }


def test_what_init_says_renders_it_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for path in ("policy.yaml", "fleet.yaml"):
        Path(path).unlink()
    assert main(["init", "--time-zone", "UTC"]) == 0
    commands = [line.strip() for line in capsys.readouterr().out.splitlines()]
    (command,) = [line for line in commands if line.startswith("krm-windows render")]
    assert main(shlex.split(command)[1:]) == 0
    check_apart("clusters/prod/deploy-windows", "clusters/prod/deploy-windows")
    assert main(["check", "--repo", "."]) == 0
    assert "no findings" in capsys.readouterr().out
    # A second policy does not gate what delivers a part of the first one's windows.
    assert main(["init", "--time-zone", "UTC", "--name", "second"]) != 0
    assert "everything in it is already gated" in capsys.readouterr().err


@pytest.mark.parametrize(
    "spec", mostly_slow(["", "  extras: [PrometheusRule]\n", "  actuator: {type: Kubectl}\n"], 3)
)
def test_what_is_not_known_to_be_delivered_stays_together(
    spec: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lay({"policy.yaml": POLICY + spec})
    assert render() == 0
    said = capsys.readouterr().err
    assert "the namespace shop" in said
    assert ("of PrometheusRule" in said) is ("PrometheusRule" in spec)
    assert TOGETHER in said
    assert "--flux-kustomization FILE" in said
    assert namespaces("clusters/prod/week") >= {"flux-system", "shop"}
    # With what delivers it, all of that moves, and nothing is said.
    assert render("--resources", "clusters/prod") == 0
    assert TOGETHER not in capsys.readouterr().err
    assert "shop" not in namespaces("clusters/prod/week")
    assert len(list(delivering("clusters/prod/week"))) == 1 + ("PrometheusRule" in spec)
    assert render("--resources", "clusters/prod", "--check") == 0
    # And what the policy no longer yields goes with its directory.
    if "Kubectl" not in spec:
        lay({"policy.yaml": POLICY + "  state: Open\n"})
        assert render("--resources", "clusters/prod") == 0
    lay({"policy.yaml": POLICY.replace("shop", "flux-system")})
    assert render("--resources", "clusters/prod") == 0
    assert not Path("clusters/prod/week/namespace-shop").exists()


@pytest.mark.parametrize(
    ("text", "path"),
    rows_mostly_slow(
        [
            (ROOT, "clusters/prod/week"),
            # The innermost of those above.
            (f"{ROOT}---\n{ROOT.replace('prod', 'prod/week')}", "clusters/prod/week"),
            # The Operator names all after the namespace.
            (INSTANCE, "clusters/prod/week"),
            # Of an artifact that is a part of the repository.
            (ROOT.replace("./clusters/prod", "./prod").replace("Git", "OCI"), "prod/week"),
            # Elsewhere, at the top of whichever repository, and not on this cluster.
            (ROOT.replace("clusters/prod", "clusters/product"), None),
            (ROOT.replace("./clusters/prod", "./").replace("name: flux-system", "name: x"), None),
            (f"{ROOT}  kubeConfig: {{secretRef: {{name: spoke}}}}\n", None),
        ],
        4,
    ),
)
def test_what_delivers_it_is_found_among_resources(
    text: str, path: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    lay({SYNC: text})
    if "name: x" in text:
        lay({"clusters/prod/apps.yaml": APPS.replace("name: flux-system}", "name: x}")})
    assert render("--resources", "clusters/prod") == 0
    assert (TOGETHER in capsys.readouterr().err) is (path is None)
    if path is not None:
        check_apart("clusters/prod/week", path)


def test_what_delivers_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    tenant = f"{ROOT}  serviceAccountName: week\n".replace("namespace: flux-system", "namespace: t")
    lay({"tenant.yaml": tenant, "other.yaml": ROOT.replace("prod", "test")})
    assert render("--flux-kustomization", "tenant.yaml") == 0
    (found,) = delivering("clusters/prod/week")
    assert found["metadata"]["namespace"] == "t"
    assert found["spec"]["serviceAccountName"] == "week"
    assert render("--flux-kustomization", "other.yaml") != 0
    assert "other.yaml: its spec.path must be clusters/prod/week" in capsys.readouterr().err


def test_a_fleet_has_it_apart(capsys: pytest.CaptureFixture[str]) -> None:
    test = ROOT.replace("clusters/prod", "fleet/clusters/test")
    lay({"clusters/test/all.yaml": f"{test}---\n{APPS}"})
    lay({SYNC: ROOT.replace("./clusters", "./fleet/clusters")})
    options = ["--resources", "clusters/{cluster}", "--all-clusters"]
    assert render(*options, policy="fleet.yaml", to="fleet") == 0
    assert TOGETHER not in capsys.readouterr().err
    for cluster in ("prod", "test"):
        windows = f"fleet/clusters/{cluster}/reconciliation-window"
        assert namespaces(f"{windows}/week/namespace-shop") == {"shop"}
        (found,) = delivering(windows)
        assert found["spec"]["path"] == f"./{windows}/week/namespace-shop"
        every = objects(windows)
        assert {each["metadata"].get("namespace") for each in every} <= {"flux-system", None}
    assert "shop" not in namespaces("fleet/reconciliation-window/week")
    assert render(*options, "--check", policy="fleet.yaml", to="fleet") == 0


def test_it_is_verified_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--resources", "clusters/prod") == 0
    verify = ["verify", "clusters/prod/week", "--policy", "policy.yaml"]
    assert main(verify) == 0
    (role,) = Path("clusters/prod/week/namespace-shop").glob("role_*")
    role.write_text(role.read_text().replace("web", "other"))
    assert main(verify) != 0
    assert "shop/web" in capsys.readouterr().err


@pytest.mark.parametrize(
    "selector", mostly_slow(["names: [{}]", "matchLabels: {{krm-windows.dev/policy: x}}"], 2)
)
def test_it_is_never_gated(selector: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert render("--resources", "clusters/prod") == 0
    (found,) = delivering("clusters/prod/week")
    second = POLICY.replace("name: week", "name: second")
    wanted = selector.format(found["metadata"]["name"])
    lay({"second.yaml": second.replace("names: [apps]", wanted)})
    assert render("--resources", "clusters", policy="second.yaml", to="out") != 0
    said = capsys.readouterr().err
    assert "(self-lock)" in said or "(target-unmatched)" in said
