"""`--resources DIR`: a kustomization that does more than to list its files is built."""

from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.cli import cluster_resources

FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {config.kubernetes.io/local-config: "true"}}
"""
RENDERED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: ours, labels: {krm-windows.dev/policy: flux-system.window}}
"""
FILES = {
    "base/kustomization.yaml": "resources: [flux.yaml]\n",
    "base/flux.yaml": FLUX,
    "north/settings.yaml": SETTINGS,
    "north/rendered.yaml": RENDERED,
}
OVERLAY = "resources: [../base, settings.yaml, rendered.yaml]\nnamePrefix: north-\n"


@pytest.fixture
def north(tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")
    (tmp_path / ".git").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "north"


def names(north: Path, *, rendered: bool = True) -> list[str]:
    return sorted(
        item.name
        for item in cluster_resources.read(str(north), None if rendered else lambda _: False)
    )


def test_an_overlay_is_built(north: Path) -> None:
    (north / "kustomization.yaml").write_text(OVERLAY)
    assert names(north) == ["north-apps", "north-ours", "settings"]
    assert names(north, rendered=False) == ["north-apps", "settings"]
    (apps,) = (item for item in cluster_resources.read(str(north)) if item.name == "north-apps")
    assert (
        Path(apps.annotations["internal.config.kubernetes.io/path"]).resolve()
        == north.parent / "base/flux.yaml"
    )
    assert "config.kubernetes.io/origin" not in apps.annotations


@pytest.mark.parametrize(
    "text", ["resources: [settings.yaml]\n", "resources: [../base, windows]\n"]
)
def test_a_list_of_files_and_what_cannot_be_built_yet_are_files(text: str, north: Path) -> None:
    """As a directory that is rendered only now."""
    (north / "kustomization.yaml").write_text(text)
    assert names(north) == ["ours", "settings"]


def test_without_kustomize_files_are_what_they_are(
    north: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (north / "kustomization.yaml").write_text(OVERLAY)
    monkeypatch.setenv("PATH", "")
    assert names(north) == ["ours", "settings"]
