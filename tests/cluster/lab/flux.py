"""Flux: its CRDs, its kustomize-controller, and what serves it a Git repository."""

import os
import sys
from pathlib import Path

from lab import build
from lab.places import ADMIN, ARTIFACT_PORT, BIN, GIT, GIT_PORT, PINS, RUN
from lab.processes import answers, run, start, until

# The project's stand-in serves where no source-controller is given: that one cannot be built from modules alone.
_SOURCE_CONTROLLER = os.environ.get("SOURCE_CONTROLLER")


def up() -> None:
    """Install every CRD of the pinned modules, start what serves Git, and kustomize-controller."""
    definitions()
    GIT.mkdir(parents=True)
    (RUN / "temporary").mkdir()
    start("git-server", [sys.executable, "-m", "lab.git_server", str(GIT_PORT), GIT])
    source_controller()
    kustomize_controller()


def definitions() -> None:
    """Apply the CRDs that the modules carry."""
    for module, pin in PINS["cluster"]["definitions"].items():
        folders = [Path(build.module_folder(module, pin["version"]), folder) for folder in pin["folders"]]
        files = [f"--filename={path}" for folder in folders for path in sorted(folder.glob("*.yaml"))]
        kubectl("apply", "--server-side", *[file for file in files if "kustomization.yaml" not in file])
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")


def source_controller() -> None:
    """Start the given source-controller, or what stands in for it."""
    storage = RUN / "artifacts"
    address = f"127.0.0.1:{ARTIFACT_PORT}"
    environment = {"KUBECONFIG": str(ADMIN), "RUNTIME_NAMESPACE": "flux-system", "TMPDIR": str(RUN / "temporary")}
    flags = [f"--storage-path={storage}", f"--storage-addr={address}", f"--storage-adv-addr={address}"]
    ports = ["--metrics-addr=127.0.0.1:9081", "--health-addr=127.0.0.1:9441", "--events-addr="]
    stand_in = [sys.executable, "-m", "lab.source_controller", str(ARTIFACT_PORT), str(storage)]
    storage.mkdir(exist_ok=True)
    others = ["--enable-leader-election=false", "--watch-label-selector=!sharding.fluxcd.io/key"]
    real = [_SOURCE_CONTROLLER or "", *flags, *ports, *others]
    start("source-controller", real if _SOURCE_CONTROLLER else stand_in, environment)


def kustomize_controller() -> None:
    """Start kustomize-controller, and return once it is ready."""
    environment = {
        "KUBECONFIG": str(ADMIN),
        "SOURCE_CONTROLLER_LOCALHOST": f"127.0.0.1:{ARTIFACT_PORT}",
        "RUNTIME_NAMESPACE": "flux-system",
        "TMPDIR": str(RUN / "temporary"),
    }
    ports = ["--metrics-addr=127.0.0.1:9080", "--health-addr=127.0.0.1:9440", "--events-addr="]
    flags = ["--enable-leader-election=false", "--concurrent=10", "--log-level=info"]
    start("kustomize-controller", [BIN / "kustomize-controller", *ports, *flags], environment)
    until("kustomize-controller", answers("curl", "-fsS", "http://127.0.0.1:9440/readyz"), 60)


def kubectl(*arguments: str) -> str:
    """Run kubectl as the cluster's administrator and return what it printed."""
    return run(BIN / "kubectl", "--kubeconfig", ADMIN, *arguments)
