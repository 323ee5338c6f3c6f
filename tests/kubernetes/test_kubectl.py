"""The commands of the actuator Kubectl, run by a real kubectl against a small API server."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from krm_windows.emit import kubectl
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.plan.model import Plan, Runtime

GROUP = "kustomize.toolkit.fluxcd.io"
APPS = Target(group=GROUP, resource="kustomizations", kind="Kustomization", namespace="flux-system", name="apps")
RESOURCE = {"name": "kustomizations", "singularName": "", "namespaced": True, "kind": "Kustomization"}
DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": GROUP,
                "versions": [{"groupVersion": f"{GROUP}/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": f"{GROUP}/v1", "version": "v1"},
            }
        ],
    },
    f"/apis/{GROUP}/v1": {
        "kind": "APIResourceList",
        "groupVersion": f"{GROUP}/v1",
        "resources": [{**RESOURCE, "verbs": ["get", "patch"]}],
    },
}


@dataclass
class Cluster:
    """What stands in the cluster, by path, and which field managers wrote."""

    objects: dict[str, dict]
    managers: list[str] = field(default_factory=list)
    address: str = ""

    def suspended(self) -> dict[str, object]:
        """Return `spec.suspend` of every object by its name."""
        return {path.rpartition("/")[2]: found["spec"].get("suspend") for path, found in self.objects.items()}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A cluster with two Kustomizations."""
    held = Cluster(
        {f"/apis/{GROUP}/v1/namespaces/flux-system/kustomizations/{name}": thing(name) for name in ("apps", "infra")}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(held))
    held.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield held
    server.shutdown()
    thread.join()
    server.server_close()


def thing(name: str) -> dict:
    """Make a Kustomization."""
    metadata = {"name": name, "namespace": "flux-system"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Kustomization", "metadata": metadata, "spec": {}}


def handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    """Make the handler of requests to a cluster."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            self.answer({**DISCOVERY, **cluster.objects}.get(path))

        def do_PATCH(self) -> None:
            url = urlsplit(self.path)
            change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["Content-Type"] == "application/merge-patch+json"
            cluster.managers += parse_qs(url.query)["fieldManager"]
            cluster.objects[url.path]["spec"] |= change["spec"]
            self.answer(cluster.objects[url.path])

        def answer(self, found: dict | None) -> None:
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            body = json.dumps(found or missing).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    return Handler


def run(program: Path, cluster: Cluster, home: Path, *targets: Target, suspend: bool) -> int:
    """Run the container of some targets as the Pod would, but for where the API server is."""
    held = Timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=targets)
    plan = Plan("week", "flux-system", held, (), (), Runtime("i:1", "Always", (), "Kubectl", timedelta(minutes=5)))
    [container] = kubectl.pod(plan, suspend=suspend).containers
    assert container["command"] == ["kubectl"]
    command = [program, f"--server={cluster.address}", *container["args"]]
    return subprocess.run(command, env={"HOME": str(home)}, check=False, timeout=60).returncode


def test_all_targets_are_patched_by_one_command(cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Closed and opened again, under the manager that Flux does not take back."""
    both = (APPS, replace(APPS, name="infra"))
    for suspend in (True, False):
        assert run(tool("kubectl"), cluster, tmp_path, *both, suspend=suspend) == 0
        assert cluster.suspended() == {"apps": suspend, "infra": suspend}
    assert set(cluster.managers) == {"krm-windows"}


def test_a_missing_target_fails_the_job_and_keeps_no_other(
    cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """`flux suspend` would exit 0."""
    assert run(tool("kubectl"), cluster, tmp_path, APPS, replace(APPS, name="aaa"), suspend=True) == 1
    assert cluster.suspended() == {"apps": True, "infra": None}


def test_a_version_may_be_named(cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Where the policy names it."""
    assert run(tool("kubectl"), cluster, tmp_path, replace(APPS, version="v1"), suspend=True) == 0
    assert cluster.suspended()["apps"] is True
