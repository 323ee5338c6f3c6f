"""`krm-windows verify` of a directory.

A kustomization is what kustomize makes of it, not the files that lie there.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.cli import main

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: office-hours, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps], mustExist: false}]
  windows: {working-week: {opens: Mon 08:00, closes: Thu 17:00}}
  clusters: {north: {interval: 5m}}
"""


@pytest.fixture
def fleet(tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy rendered for a cluster as patches of a base, and kustomize."""
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / ".git").mkdir()
    assert (
        main(
            [
                "render",
                str(tmp_path / "policy.yaml"),
                "--all-clusters",
                "--output-dir",
                str(tmp_path / "fleet"),
            ]
        )
        == 0
    )
    return tmp_path


def verified(fleet: Path) -> int:
    """Verify what was rendered for the cluster."""
    place = fleet / "fleet/clusters/north/reconciliation-window"
    policy = str(fleet / "policy.yaml")
    return main(["verify", str(place), "--policy", policy, "--cluster", "north"])


def test_patches_of_a_base_are_verified_as_they_are_built(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a policy that has changed since is found."""
    assert verified(fleet) == 0, capsys.readouterr().err
    (fleet / "policy.yaml").write_text(POLICY.replace("5m", "10m"))
    assert verified(fleet) == 1
    assert "emitted-missing" in "".join(capsys.readouterr())


@pytest.mark.parametrize("first", ["policy.yaml", "other.yaml"])
def test_every_policy_that_is_given_is_verified(
    fleet: Path, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the last one alone: of the other nothing is in the output."""
    other = POLICY.replace("office-hours", "other").replace("[apps]", "[infra]")
    (fleet / "other.yaml").write_text(other)
    last = {"policy.yaml": "other.yaml", "other.yaml": "policy.yaml"}[first]
    place = fleet / "fleet/clusters/north/reconciliation-window"
    policies = ["--policy", str(fleet / first), "--policy", str(fleet / last)]
    call = ["verify", str(place), *policies, "--cluster", "north"]
    assert main(call) == 1
    said = capsys.readouterr().err
    assert "contain nothing of the policy flux-system/other" in said
    assert "office-hours" not in said


def test_a_base_that_may_not_be_read_is_said(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of a build proves nothing; the stream of one that is made elsewhere does."""
    (fleet / ".git").rmdir()
    assert verified(fleet) == 1
    said = capsys.readouterr().err
    assert "cannot be built as a whole" in said
    assert "pipe the output of `kustomize build" in said


def test_a_policy_among_the_plugins_is_not_run(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So what it would emit is not there to be verified."""
    place = fleet / "plugin"
    place.mkdir()
    (place / "kustomization.yaml").write_text("transformers: [policy.yaml]\n")
    (place / "policy.yaml").write_text(POLICY)
    assert (
        main(["verify", str(place), "--policy", str(fleet / "policy.yaml"), "--cluster", "north"])
        == 1
    )
    assert (
        "a WindowPolicy among the transformers or generators is not run here"
        in capsys.readouterr().err
    )
