"""What a migration writes is accepted by `render` and `check --repo`."""

import shlex
from pathlib import Path

import pytest
import yaml
from effort import rows_mostly_slow
from repositories import carry_out, job, read, write

from krm_windows.cli import main
from krm_windows.migrate import Migration
from krm_windows.migrate.report import renders
from krm_windows.results import fails

ROOT = "clusters/prod"


def manifest(api: str, kind: str, name: str, namespace: str, spec: object) -> str:
    metadata = {"name": name, "namespace": namespace}
    document = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
    return yaml.safe_dump(document)


def kustomization(name: str, path: str, namespace: str = "flux-system", **fields: object) -> str:
    source = {"kind": "GitRepository", "name": namespace}
    spec = {"interval": "10m", "path": path, "prune": True, "sourceRef": source, **fields}
    return manifest("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, namespace, spec)


def source(name: str, namespace: str = "flux-system") -> str:
    spec = {"interval": "1m", "url": f"ssh://git@git.example/acme/{name}"}
    return manifest("source.toolkit.fluxcd.io/v1", "GitRepository", name, namespace, spec)


def release(name: str, namespace: str = "flux-system", **fields: object) -> str:
    repository = {"kind": "HelmRepository", "name": "c"}
    chart = {"chart": "web", "version": "1.2.3", "sourceRef": repository}
    spec = {"interval": "1h", "chart": {"spec": chart}, **fields}
    return manifest("helm.toolkit.fluxcd.io/v2", "HelmRelease", name, namespace, spec)


def fleet(targets: str, namespace: str = "flux-system", **files: str) -> dict[str, str]:
    root = kustomization(namespace, f"./{ROOT}", namespace)
    return {
        f"{ROOT}/flux-system/gotk-sync.yaml": f"{source(namespace, namespace)}---\n{root}",
        f"{ROOT}/apps.yaml": kustomization("apps", "./apps", namespace),
        f"{ROOT}/infra.yaml": kustomization("infra", "./infra", namespace),
        "apps/a.yaml": manifest("v1", "ConfigMap", "a", "default", None),
        "infra/i.yaml": manifest("v1", "ConfigMap", "i", "default", None),
        f"{ROOT}/open.yaml": job("open", "0 8 * * 1-5", f"flux resume {targets}"),
        f"{ROOT}/close.yaml": job("close", "0 18 * * 1-5", f"flux suspend {targets}"),
        **{name.replace("__", "/") + ".yaml": text for name, text in files.items()},
    }


def migrated(files: dict[str, str], folder: Path) -> Migration:
    write(folder, files)
    found = read(folder)
    assert not fails(found.results), found.results
    for path, content in found.files.items():
        (folder / path).write_bytes(content)
    carry_out(folder, found.steps)
    return found


ALL = "kustomization --all -n flux-system"
CHARTS = {"kind": "GitRepository", "name": "charts"}
ACCEPTED = {
    "all": (fleet(ALL), {"apps", "infra"}),
    "the root by name": (fleet("kustomization flux-system apps"), {"apps"}),
    "a root of another name": (fleet("kustomization --all -n fleet", "fleet"), {"apps", "infra"}),
    "sources": (
        fleet(
            "source git --all",
            clusters__prod__charts=source("charts"),
            clusters__prod__apps=kustomization("apps", "./apps", sourceRef=CHARTS),
        ),
        {"charts"},
    ),
    "suspend: false": (
        fleet(ALL, clusters__prod__apps=kustomization("apps", "./apps", suspend=False)),
        {"apps", "infra"},
    ),
    "suspend: false elsewhere": (
        fleet("helmrelease web", apps__web=release("web", suspend=False)),
        {"web"},
    ),
    "another release in the cluster's directory": (
        fleet("helmrelease web", apps__web=release("web"), clusters__prod__b=release("b")),
        {"web"},
    ),
    "another namespace": (
        fleet("helmrelease web -n shop", apps__web=release("web", "shop")),
        {"web"},
    ),
    "a file of the policy's name": (
        fleet("kustomization apps", **{"reconciliation-window": source("x")}),
        {"apps"},
    ),
}


@pytest.mark.parametrize(
    ("files", "names"), rows_mostly_slow(ACCEPTED.values(), every=3), ids=ACCEPTED
)
def test_what_is_written_is_accepted(
    files: dict[str, str],
    names: set[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = migrated(files, tmp_path)
    monkeypatch.chdir(tmp_path)
    [policy] = found.policies
    spec = yaml.safe_load(policy.text)["spec"]
    assert {name for each in spec["targets"] for name in each["names"]} == names
    for command in renders(found):
        assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    assert main(["check", "--repo", ".", "--clusters", ROOT]) == 0, capsys.readouterr()
