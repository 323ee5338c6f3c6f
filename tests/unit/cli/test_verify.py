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
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / ".git").mkdir()
    policy, output = str(tmp_path / "policy.yaml"), str(tmp_path / "fleet")
    assert main(["render", policy, "--all-clusters", "--output-dir", output]) == 0
    return tmp_path


def verified(
    fleet: Path, *policies: str, place: str = "fleet/clusters/north/reconciliation-window"
) -> int:
    given = [
        word for each in ("policy.yaml", *policies) for word in ("--policy", str(fleet / each))
    ]
    return main(["verify", str(fleet / place), *given, "--cluster", "north"])


def test_patches_of_a_base_are_verified_as_they_are_built(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verified(fleet) == 0, capsys.readouterr().err
    other = POLICY.replace("office-hours", "other").replace("[apps]", "[infra]")
    (fleet / "other.yaml").write_text(other)
    assert verified(fleet, "other.yaml") == 1
    said = capsys.readouterr().err
    assert "contain nothing of the policy flux-system/other" in said
    assert "office-hours" not in said
    (fleet / "policy.yaml").write_text(POLICY.replace("5m", "10m"))
    assert verified(fleet) == 1
    assert "emitted-missing" in "".join(capsys.readouterr())


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
    place = fleet / "plugin"
    place.mkdir()
    (place / "kustomization.yaml").write_text("transformers: [policy.yaml]\n")
    (place / "policy.yaml").write_text(POLICY)
    assert verified(fleet, place="plugin") == 1
    said = capsys.readouterr().err
    assert "a WindowPolicy among the transformers or generators is not run here" in said
