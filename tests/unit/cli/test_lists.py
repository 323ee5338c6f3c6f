"""Policies and resources in a `kind: List`, as `kubectl get -o yaml` writes them."""

from pathlib import Path

import pytest
import yaml

from krm_windows.cli import main

POLICY = """\
apiVersion: v1
kind: List
items:
- apiVersion: krm-windows.dev/v1alpha1
  kind: WindowPolicy
  metadata: {name: week, namespace: shop}
  spec:
    timeZone: Europe/Berlin
    targets:
    - {kind: HelmRelease, names: [web]}
    windows:
      office: {opens: Mon 08:00, closes: Thu 17:00}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec: {interval: 10m, chartRef: {kind: OCIRepository, name: web}}
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("resources").mkdir()
    release = yaml.safe_load(RELEASE)
    write(release)


def write(*entries: object) -> None:
    """Write a list of resources."""
    listed = {"apiVersion": "v1", "kind": "List", "items": entries}
    Path("resources/list.yaml").write_text(yaml.safe_dump(listed, sort_keys=False))


RENDER = ("render", "policy.yaml", "--resources", "resources", "--output-dir", "out")


def test_a_policy_renders_from_its_list(capsys: Capture) -> None:
    """With resources from another one."""
    assert main(list(RENDER)) == 0
    assert capsys.readouterr().err.startswith("krm-windows: ")
    assert main(["check", "policy.yaml"]) == 0
    assert main(["calendar", "policy.yaml"]) == 0


def test_what_is_wrong_has_its_line(capsys: Capture) -> None:
    """In the list of the policy, and in that of the resources."""
    Path("policy.yaml").write_text(POLICY.replace("[web]", "[web, other]"))
    assert main(list(RENDER)) == 1
    assert "policy.yaml:10:" in capsys.readouterr().err
    Path("policy.yaml").write_text(POLICY)
    release = yaml.safe_load(RELEASE)
    release["spec"]["suspend"] = True
    write({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}}, release)
    assert main(list(RENDER)) == 1
    lines = Path("resources/list.yaml").read_text().splitlines()
    line = lines.index("    suspend: true") + 1
    assert f"resources/list.yaml:{line}:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ("set", "policy.yaml", "--patch", '{"timeZone": "Etc/UTC"}'),
        ("override", "policy.yaml", "open", "--for", "2h", "--reason", "a fix"),
    ],
)
def test_no_command_changes_it_there(command: tuple[str, ...], capsys: Capture) -> None:
    """The file stays as it is, and the way out is said."""
    assert main(list(command)) != 0
    assert "policy.yaml:4:3: " in (err := capsys.readouterr().err)
    assert "make the policy a document of its own" in err
    assert Path("policy.yaml").read_text() == POLICY
