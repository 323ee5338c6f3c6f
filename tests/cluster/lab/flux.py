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
    storage = RUN / "artifacts"
    storage.mkdir()
    addresses = [f"--storage-addr={_ARTIFACTS}", f"--storage-adv-addr={_ARTIFACTS}"]
    # What belongs to a shard is left alone.
    others = "--watch-label-selector=!sharding.fluxcd.io/key"
    _controller("source-controller", f"--storage-path={storage}", *addresses, others)
    _controller("kustomize-controller")
    _controller("helm-controller", others)
    for name, (_, health) in _PORTS.items():
        until(name, answers("curl", "-fsS", f"http://127.0.0.1:{health}/readyz"))


def definitions() -> None:
    for module, pin in PINS["cluster"]["definitions"].items():
        place = Path(build.module_folder(module, pin["version"]))
        paths = [path for folder in pin["folders"] for path in (place / folder).glob("*.yaml")]
        paths = [path for path in sorted(paths) if path.name != "kustomization.yaml"]
        kubectl("apply", "--server-side", *[f"--filename={path}" for path in paths])
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=15m")


def _controller(name: str, *flags: str) -> None:
    environment = {"KUBECONFIG": str(ADMIN), "RUNTIME_NAMESPACE": "flux-system"}
    environment |= {"SOURCE_CONTROLLER_LOCALHOST": _ARTIFACTS}
    metrics, health = _PORTS[name]
    ports = [f"--metrics-addr=127.0.0.1:{metrics}", f"--health-addr=127.0.0.1:{health}"]
    alone = ["--events-addr=", "--enable-leader-election=false"]
    common = [*ports, *alone, "--concurrent=10", "--log-level=info"]
    start(name, [BIN / name, *common, *flags], environment)


def kubectl(*arguments: str) -> str:
    return run(BIN / "kubectl", "--kubeconfig", ADMIN, *arguments)
