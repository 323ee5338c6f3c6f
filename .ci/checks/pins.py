"""What has to repeat a pin of versions.toml says the same as versions.toml."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def problems() -> Iterator[str]:
    """Yield a sentence for every pin that differs."""
    pins = tomllib.loads((ROOT / "versions.toml").read_text())
    dockerfile = re.search(r"^ARG BASE=(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    if not dockerfile or dockerfile[1] != pins["image"]["base"]:
        yield f"Dockerfile: ARG BASE is not {pins['image']['base']}"
    kubectl = "v0." + pins["tools"]["kubectl"].removeprefix("1.")
    if f"k8s.io/kubectl {kubectl}\n" not in (ROOT / ".ci/kubectl/go.mod").read_text():
        yield f".ci/kubectl/go.mod: k8s.io/kubectl is not {kubectl}"
    prometheus = f"github.com/prometheus/prometheus v{pins['tools']['promtool']}"
    if prometheus not in (ROOT / ".ci/promtool/go.mod").read_text():
        yield f".ci/promtool/go.mod: {prometheus} is not there"
    for module, pin in _modules(pins["cluster"]).items():
        if f"\t{pin} // indirect\n" not in (ROOT / f"tests/cluster/lab/go/{module}/go.mod").read_text():
            yield f"tests/cluster/lab/go/{module}/go.mod: {pin} is not there"
    if f"## {_version()}" not in (ROOT / "CHANGELOG.md").read_text():
        yield f"CHANGELOG.md: has no heading for {_version()}"


def _modules(cluster: dict[str, str]) -> dict[str, str]:
    return {
        "kubernetes": f"k8s.io/kubernetes v{cluster['kubernetes']}",
        "kustomize-controller": f"github.com/fluxcd/kustomize-controller v{cluster['kustomize-controller']}",
    }


def _version() -> str:
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "krm_windows/__init__.py").read_text())
    return found[1] if found else "a version (krm_windows/__init__.py has none)"
