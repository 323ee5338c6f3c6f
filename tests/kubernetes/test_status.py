"""`krm-windows status`, which asks a real kubectl, which asks a small API server."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from calls import POLICY, call, wire
from served import Cluster, kustomization, serving

pytestmark = pytest.mark.slow  # a program each, beside an API server

CLOSED = "2026-11-21T10:00Z"


@dataclass(frozen=True)
class Scene:
    cluster: Cluster
    command: list[str | Path]
    environment: dict[str, str]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [*self.command, *options]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        )


@pytest.fixture
def scene(function: Path, tool: Callable[[str], Path], tmp_path: Path) -> Iterator[Scene]:
    kubectl = tool("kubectl")
    apps = kustomization("apps")
    apps["spec"] = {"suspend": True}
    with serving(apps) as cluster:
        for cron_job in call(wire(config=POLICY)).objects:
            if cron_job["kind"] == "CronJob":
                cluster.add(cron_job)
        (tmp_path / "policy.yaml").write_text(POLICY)
        (tmp_path / "config").write_text(json.dumps(kubeconfig(cluster.address)))
        command = [function, "status", tmp_path / "policy.yaml", "--at", CLOSED]
        command += ["--kubeconfig", tmp_path / "config"]
        path = f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        yield Scene(cluster, command, {**os.environ, "PATH": path, "HOME": str(tmp_path)})


def kubeconfig(address: str) -> dict[str, object]:
    clusters = {"here": address, "nowhere": "http://127.0.0.1:1"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server}} for name, server in clusters.items()
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": ""}} for name in clusters],
        "current-context": "here",
    }


def test_as_desired(scene: Scene) -> None:
    labels = {"krm-windows.dev/policy": "flux-system.week"}
    ended = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T09:50:00Z"}
    meta = {"name": "week-resync-1", "namespace": "flux-system", "labels": labels}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
    scene.cluster.add({**job, "status": {"conditions": [ended]}})
    done = scene.run()
    assert (done.returncode, done.stderr) == (0, "")
    line = done.stdout.splitlines()[-1]
    assert line.startswith("Kustomization flux-system/apps   closed   closed    a person")
    assert line.endswith("opens Mon 2026-11-23 08:00   10 m ago, succeeded")


def test_labels(scene: Scene, tmp_path: Path) -> None:
    policy = POLICY.replace("names: [apps]", "matchLabels: {class: windowed}")
    (tmp_path / "policy.yaml").write_text(policy)
    [found] = [each for path, each in scene.cluster.objects.items() if "/kustomizations/" in path]
    assert "no targets" in scene.run().stdout
    found["metadata"]["labels"] = {"class": "windowed"}
    assert "Kustomization flux-system/apps   closed" in scene.run().stdout


def test_what_cannot_be_asked(scene: Scene, tmp_path: Path) -> None:
    refused = 'jobs.batch is forbidden: User "me" cannot list resource "jobs"'
    scene.cluster.refused["/jobs"] = refused
    said = {
        (): f"kubectl: Error from server (Forbidden): {refused}; is it the right cluster",
        ("--context", "other"): 'kubectl: context "other" does not exist; is it the right cluster',
        ("--context", "nowhere"): "is it the right cluster (--kubeconfig, --context)?",
    }
    for options, words in said.items():
        is_one_line(scene.run(*options), words)
    (tmp_path / "config").unlink()
    is_one_line(scene.run(), "no such file or directory")


def is_one_line(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_kind_that_is_not_installed(scene: Scene, tmp_path: Path) -> None:
    """The cluster may be the wrong one."""
    (tmp_path / "policy.yaml").write_text(
        POLICY.replace("kind: Kustomization", "kind: HelmRelease")
    )
    done = scene.run()
    assert done.returncode == 1
    assert "doesn't have a resource type" in done.stderr


def test_no_kubectl(scene: Scene, tmp_path: Path) -> None:
    done = replace(scene, environment={**scene.environment, "PATH": str(tmp_path)}).run()
    assert done.returncode == 1
    way = "install it, or pipe in its output from another machine (-f -)"
    assert f"kubectl not found in PATH: {way}" in done.stderr
