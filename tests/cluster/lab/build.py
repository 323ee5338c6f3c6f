"""The components, built from the Go modules that go.mod and go.sum pin."""

import os
import subprocess
import time

from lab.processes import run
from lab.settings import BIN, GO, PINS, ROOT

_GO_CACHE = ROOT / ".cache/go"
_VERSION = PINS["cluster"]["kubernetes"]
_STAMP = {
    f"k8s.io/{module}.{name}": value
    for module in ("component-base/version", "client-go/pkg/version")
    for name, value in {
        "gitVersion": f"v{_VERSION}",
        "gitMajor": _VERSION.split(".")[0],
        "gitMinor": _VERSION.split(".")[1],
    }.items()
}
KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
FLUX = ("kustomize-controller", "source-controller", "helm-controller")
# Every program: the folder of the Go module that pins it, its package, its version.
PROGRAMS = {
    **{name: ("kubernetes", f"k8s.io/kubernetes/cmd/{name}", _VERSION) for name in KUBERNETES},
    **{name: (name, f"github.com/fluxcd/{name}", PINS["cluster"][name]) for name in FLUX},
    "pause": ("pause", ".", "1"),
    "s3": ("s3", ".", "1"),
}


def build() -> None:
    for name, (module, package, version) in PROGRAMS.items():
        stamp = BIN / f".{name}-{version}"
        if not stamp.exists():
            _build(name, module, package)
            stamp.touch()
    for module, pin in PINS["cluster"]["definitions"].items():
        module_folder(module, pin["version"])


def _build(name: str, module: str, package: str) -> None:
    print(f"lab: building {name}", end="", flush=True)
    began = time.monotonic()
    BIN.mkdir(parents=True, exist_ok=True)
    flags = " ".join(["-s", "-w", *(f"-X {key}={value}" for key, value in _STAMP.items())])
    options = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-p=2", "-ldflags", flags]
    command = ["go", "build", *options, "-o", BIN / name, package]
    environment = {**_environment(), "CGO_ENABLED": "0"}
    subprocess.run(command, cwd=GO / module, env=environment, check=True)
    print(f", {time.monotonic() - began:.0f} s", flush=True)


def module_folder(module: str, version: str) -> str:
    """The sources are brought to the module cache if they are not there."""
    command = ["go", "mod", "download", "-json", f"{module}@v{version.removeprefix('v')}"]
    answer = run(*command, cwd="/", env=_environment())
    return next(line.split('"')[3] for line in answer.splitlines() if '"Dir"' in line)


def _environment() -> dict[str, str]:
    """Return the variables under which Go keeps everything in the cache of this repository.

    Caches that the caller names (`GOCACHE`, `GOMODCACHE`) are used instead, as by Go. `GOENV` names
    the person's own settings (`go env -w`, the proxy for one), which lie where Go's other state
    would.
    """
    settings = run("go", "env", "GOENV", cwd="/").strip()
    caches = {"GOCACHE": str(_GO_CACHE / "build"), "GOMODCACHE": str(_GO_CACHE / "modules")}
    own = {
        # What is known of the checksum database: without it no cached module is believed.
        "GOPATH": str(_GO_CACHE / "path"),
        "XDG_CONFIG_HOME": str(_GO_CACHE / "config"),  # Go's telemetry
        "GOENV": settings,
        "GOFLAGS": "-modcacherw",
    }
    return {**caches, **os.environ, **own}
