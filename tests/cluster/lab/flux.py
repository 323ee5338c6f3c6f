"""Flux: its CRDs, its own controllers as they are published, and a Git server."""

import sys
from pathlib import Path

from lab import build
from lab.processes import answers, run, start, until
from lab.settings import ADMIN, ARTIFACT_PORT, BIN, GIT, GIT_PORT, NEIGHBOUR, PINS, RUN

_ARTIFACTS = f"127.0.0.1:{ARTIFACT_PORT}"
# Ports for metrics and health, one pair each: all of them share the lab's network.
_PORTS = {
    "kustomize-controller": (9080, 9440),
    "source-controller": (9081, 9441),
    "helm-controller": (9082, 9442),
}


def up() -> None:
    """Install every CRD of the pinned modules; start the Git server and Flux."""
    definitions()
    GIT.mkdir(parents=True)
    # For Flux, which is beside the cluster, and for Pods, which reach nothing but the neighbour.
    for name, address in (("git-server", "127.0.0.1"), ("git-server-for-pods", NEIGHBOUR)):
        start(name, [sys.executable, "-m", "lab.git_server", address, str(GIT_PORT), GIT])
    source_controller()
    kustomize_controller()
    helm_controller()
    for name, (_, health) in _PORTS.items():
        until(name, answers("curl", "-fsS", f"http://127.0.0.1:{health}/readyz"))


def definitions() -> None:
    for module, pin in PINS["cluster"]["definitions"].items():
        folders = [
            Path(build.module_folder(module, pin["version"]), folder) for folder in pin["folders"]
        ]
        files = [
            f"--filename={path}" for folder in folders for path in sorted(folder.glob("*.yaml"))
        ]
        kubectl(
            "apply", "--server-side", *[file for file in files if "kustomization.yaml" not in file]
        )
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=15m")


def source_controller() -> None:
    """Start source-controller; what belongs to a shard is left alone."""
    storage = RUN / "artifacts"
    storage.mkdir(exist_ok=True)
    places = [
        f"--storage-path={storage}",
        f"--storage-addr={_ARTIFACTS}",
        f"--storage-adv-addr={_ARTIFACTS}",
    ]
    _controller("source-controller", *places, "--watch-label-selector=!sharding.fluxcd.io/key")


def kustomize_controller() -> None:
    _controller("kustomize-controller")


def helm_controller() -> None:
    """Start helm-controller; what belongs to a shard is left alone."""
    _controller("helm-controller", "--watch-label-selector=!sharding.fluxcd.io/key")


def _controller(name: str, *flags: str) -> None:
    environment = {
        "KUBECONFIG": str(ADMIN),
        "RUNTIME_NAMESPACE": "flux-system",
        "SOURCE_CONTROLLER_LOCALHOST": _ARTIFACTS,
    }
    metrics, health = _PORTS[name]
    common = [
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--health-addr=127.0.0.1:{health}",
        "--events-addr=",
    ]
    common += ["--enable-leader-election=false", "--concurrent=10", "--log-level=info"]
    start(name, [BIN / name, *common, *flags], environment)


def kubectl(*arguments: str) -> str:
    return run(BIN / "kubectl", "--kubeconfig", ADMIN, *arguments)
