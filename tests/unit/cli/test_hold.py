"""`krm-windows hold`, by the real kubectl on a small API server."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY
from served import Cluster, kustomization, serving

from krm_windows.cli import main
from krm_windows.gate.annotations import HOLD

Kinds = list[dict]
EDGES = POLICY.replace("spec:\n", "spec:\n  actuator: {type: Kubectl}\n")
APPS_AT = "/kustomizations/apps"


@pytest.fixture
def cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], Path]
) -> Iterator[Cluster]:
    """A cluster with the Kustomization `apps`, by the kubeconfig of the environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tool('kubectl').parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    with serving(kustomization("apps")) as found:
        config = {
            "clusters": [{"name": "a", "cluster": {"server": found.address}}],
            "contexts": [{"name": "a", "context": {"cluster": "a"}}],
            "current-context": "a",
        }
        (tmp_path / "config").write_text(json.dumps(config))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        yield found


def hold(*words: str, also: str = "Kustomization/apps") -> int:
    """Hold `apps`, after something else if that is named."""
    targets = dict.fromkeys((also, "Kustomization/apps"))
    return main(["hold", *targets, "-n", "flux-system", *words])


def apps(cluster: Cluster) -> dict:
    """Return the Kustomization."""
    [found] = [each for path, each in cluster.objects.items() if path.endswith(APPS_AT)]
    return found


def gated(cluster: Cluster, policy: str) -> None:
    """Put what a policy is rendered to into the cluster."""
    Path("policy.yaml").write_text(policy)
    Path("apps.yaml").write_text(APPS)
    assert main(["render", "policy.yaml", "--output-dir", "windows"]) == 0
    for path in sorted(Path("windows").glob("*.yaml")):
        found = yaml.safe_load(path.read_text())
        if found["kind"] in ("CronJob", "Role", "RoleBinding"):
            cluster.add(found)


def test_it_holds_and_releases(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Who, when and why, by a manager that Flux leaves; then the gate decides."""
    gated(cluster, POLICY)
    assert hold("--reason", "the press is\nbeing repaired", "--by", "anna") == 0
    text = apps(cluster)["metadata"]["annotations"][HOLD]
    assert text.startswith("anna, 2")
    assert text.endswith("Z: the press is being repaired")
    assert apps(cluster)["spec"] == {"suspend": True}
    assert f"is held and suspended, it was open: {text}" in capsys.readouterr().out
    assert hold("--reason", "me, too") == 1
    assert f"is held already, by: {text}" in capsys.readouterr().err
    assert hold("--release") == 0
    assert apps(cluster)["spec"] == {"suspend": True}
    assert HOLD not in apps(cluster)["metadata"]["annotations"]
    said = capsys.readouterr().out
    assert "its gate opens it in its next run, if" in said
    assert set(cluster.managers) == {"krm-windows-hold"}
    assert hold("--release") == 1
    assert "is not held" in capsys.readouterr().err


def test_what_cannot_be_held(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """An edge of the actuator `Kubectl` would open it; nothing is written."""
    gated(cluster, EDGES)
    assert hold("--reason", "why") == 1
    assert "has the actuator `Kubectl`" in capsys.readouterr().err
    assert cluster.managers == []


def test_what_nobody_gates(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays suspended, and the command to resume it is given."""
    assert hold("--reason", "why") == 0
    assert cluster.managers == ["krm-windows-hold"]
    assert hold("--release") == 0
    said = capsys.readouterr().out
    assert "if no policy gates it, or somebody else suspended it, too: kubectl patch" in said
    assert "--field-manager=krm-windows-hold" in said


def test_what_others_suspended(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """A release takes nothing back but the hold."""
    fields = {"f:spec": {"f:suspend": {}}}
    entry = {"manager": "flux", "operation": "Update", "fieldsV1": fields}
    apps(cluster)["spec"]["suspend"] = True
    apps(cluster)["metadata"]["managedFields"] = [entry]
    assert hold("--reason", "why") == 0
    assert "it was suspended already" in capsys.readouterr().out
    assert hold("--release") == 0
    assert apps(cluster)["spec"]["suspend"] is True


def test_what_git_says(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """A field of Git is taken back at the next reconcile: that is said before it is too late."""
    notes = {"f:annotations": {f"f:{HOLD}": {}}}
    fields: dict = {"f:spec": {"f:suspend": {}}}
    entry = {"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": fields}
    apps(cluster)["metadata"]["managedFields"] = [entry]
    assert hold("--reason", "why") == 0
    assert "warning: spec.suspend is in Git" in capsys.readouterr().out
    fields["f:metadata"] = notes
    assert hold("--release") == 1
    assert "is held in Git" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--reason", " "], 2, "--reason must have"),
        (["--reason", "why", "--release"], 2, "not allowed with"),
        ([], 2, "required"),
    ],
)
def test_a_wrong_call(
    cluster: Cluster,
    words: list[str],
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each is said in words, and nothing is written."""
    assert hold(*words) == code
    assert said in capsys.readouterr().err
    assert apps(cluster)["spec"] == {}


@pytest.mark.parametrize(
    ("also", "code", "said", "held"),
    [
        ("Alert/x", 2, "'Alert/x' is not KIND/NAME", False),
        ("Kustomization", 2, "'Kustomization' is not KIND/NAME", False),
        ("hr/web", 1, "resource type", True),
        ("ks/none", 1, "Kustomization flux-system/none: not found", True),
    ],
)
def test_several_targets(  # noqa: PLR0913 - a case, and what it is run with
    cluster: Cluster,
    also: str,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
    *,
    held: bool,
) -> None:
    """What cannot be held keeps no other from being held; what is no target is a wrong call."""
    assert hold("--reason", "why", also=also) == code
    assert said in capsys.readouterr().err
    assert apps(cluster)["spec"] == ({"suspend": True} if held else {})


def test_what_is_refused(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """By the API server, with the right that is missing."""
    cluster.refused[APPS_AT] = 'kustomizations "apps" is forbidden: User "x" cannot patch resource'
    assert hold("--reason", "why") == 1
    assert 'User "x" cannot patch resource' in capsys.readouterr().err
    assert apps(cluster)["spec"] == {}
