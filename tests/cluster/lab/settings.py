"""Where the lab keeps things: under `.cache/e2e`, what belongs to one run under `run`."""

import tomllib
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache/e2e"
BIN = CACHE / "bin"
IMAGES = CACHE / "images"
RUN = CACHE / "run"
LOGS = CACHE / "logs"
PIDS = RUN / "pids"
PKI = RUN / "pki"
GIT = RUN / "git"
TEMPORARY = RUN / "temporary"
# Two kubelets in one would remove each other's Pods.
CGROUP = f"lab-{sha256(bytes(ROOT)).hexdigest()[:8]}"
GO = Path(__file__).resolve().parent / "go"

ADMIN = RUN / "admin.kubeconfig"
API, API_PORT = "127.0.0.1", 6443
GIT_PORT, ARTIFACT_PORT, REGISTRY_PORT, S3_PORT = 9418, 9790, 5000, 9000
NODE = "10.99.0.1"
NEIGHBOUR = (
    "10.99.0.2"  # an external system beside the cluster: the one other address that Pods reach
)
POD_BRIDGE = "cni0"
PODS, POD_GATEWAY = "10.244.0.0/24", "10.244.0.1"
SERVICES, API_SERVICE = "10.96.0.0/16", "10.96.0.1"

PINS = tomllib.loads((ROOT / "versions.toml").read_text())
