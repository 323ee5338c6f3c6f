"""The commands of the actuator Kubectl, run by a real kubectl against a small API server."""

import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import zoned
from served import Cluster, kustomization, serving

from krm_windows.emit import kubectl
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan
from krm_windows.policy.model import Actuator

GROUP = "kustomize.toolkit.fluxcd.io"
APPS = Target(
    group=GROUP,
    resource="kustomizations",
    kind="Kustomization",
    namespace="flux-system",
    name="apps",
)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with serving(kustomization("apps"), kustomization("infra")) as served:
        yield served


def run(program: Path, cluster: Cluster, home: Path, *targets: Target, suspend: bool) -> int:
    held = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=targets)
    plan = Plan("week", "flux-system", held, (), (), Actuator(type="Kubectl"), timedelta(minutes=5))
    [container] = kubectl.pod(plan, suspend=suspend).containers
    assert container["command"] == ["kubectl"]
    command = [program, f"--server={cluster.address}", *container["args"]]
    return subprocess.run(command, env={"HOME": str(home)}, check=False, timeout=60).returncode


def test_all_targets_are_patched_by_one_command(
    cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """Closed and opened again, under the manager that Flux does not take back."""
    both = (APPS, APPS._replace(name="infra"))
    for suspend in (True, False):
        assert run(tool("kubectl"), cluster, tmp_path, *both, suspend=suspend) == 0
        assert cluster.suspended() == {"apps": suspend, "infra": suspend}
    assert set(cluster.managers) == {"krm-windows"}


def test_a_missing_target_fails_the_job_and_keeps_no_other(
    cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """`flux suspend` would exit 0."""
    assert (
        run(tool("kubectl"), cluster, tmp_path, APPS, APPS._replace(name="aaa"), suspend=True) == 1
    )
    assert cluster.suspended() == {"apps": True, "infra": None}


def test_a_version_may_be_named(
    cluster: Cluster, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    assert run(tool("kubectl"), cluster, tmp_path, APPS._replace(version="v1"), suspend=True) == 0
    assert cluster.suspended()["apps"] is True
