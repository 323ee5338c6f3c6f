"""`krm-windows check --repo`, as a person or a pipeline calls it."""

import json
import shutil
from pathlib import Path

import pytest

from krm_windows.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures/repositories"
FIRES = str(FIXTURES / "object-shared/fires")
# Nothing in these repositories says which source they are.
HOME = ("--source", "flux-system=.")
SYNC = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux-system, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--repo", f"{FIRES}/nothing"], "no such directory"),
        (["--repo", FIRES, "--clusters", "fleet/*"], "no directory matches fleet/*"),
        (["--repo", FIRES, "--base", "no-such-commit"], "no-such-commit"),
    ],
)
def test_what_the_repository_does_not_have_is_said(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *options]) == 1
    assert said in capsys.readouterr().err


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    for name in ("north", "south"):
        shutil.copytree(f"{FIRES}/clusters/north", tmp_path / f"deploy/clusters/{name}")
        (tmp_path / f"deploy/clusters/{name}/policy.yaml").unlink()
    return tmp_path


def test_without_a_pattern_what_flux_syncs_is_checked(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--repo", str(elsewhere)]) == 1
    assert "no directory matches clusters/*" in capsys.readouterr().err
    for name in ("north", "south"):
        sync = SYNC.format(path=f"deploy/clusters/{name}")
        (elsewhere / f"deploy/clusters/{name}/sync.yaml").write_text(sync)
    main(["check", "--repo", str(elsewhere), "-o", "json"])
    found = capsys.readouterr()
    main(["check", "--repo", str(elsewhere), "-o", "json", "--clusters", "deploy/clusters/*"])
    assert found.out == capsys.readouterr().out


def test_a_directory_of_a_usual_name_with_a_policy_is_a_cluster(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`init` puts a policy where only the name says that it is a cluster; it is checked there."""
    shutil.copy(f"{FIRES}/clusters/north/policy.yaml", elsewhere / "deploy/clusters/north/w.yaml")
    main(["check", "--repo", str(elsewhere)])
    assert "1 cluster" in capsys.readouterr().out


def test_errors_fail_and_warnings_only_when_strict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--repo", FIRES]) == 1
    warned = str(FIXTURES / "release-moves/fires")
    assert [main(["check", "--repo", warned]), main(["check", "--repo", warned, "--strict"])] == [
        0,
        1,
    ]
    assert main(["check", "--repo", str(FIXTURES / "object-shared/nearly")]) == 0
    assert not capsys.readouterr().err


def test_text_begins_with_the_place_as_compilers_write_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FIXTURES)
    main(["check", "--repo", "object-shared/fires", *HOME])
    first, alone, last = capsys.readouterr().out.splitlines()
    assert alone.endswith("(policy-file-alone) [north]")
    assert first.startswith(
        "object-shared/fires/windowed/both.yaml:1:1: [error] ConfigMap shop/settings: is applied by"
    )
    assert first.endswith("(object-shared) [north]")
    counted = "1 cluster, 3 of 3 Kustomizations, 1 policy: 1 error, 1 info"
    assert last == f"object-shared/fires: {counted}"
    main(["check", "--repo", "object-shared/fires", "-o", "github", *HOME])
    file = "object-shared/fires/windowed/both.yaml"
    assert capsys.readouterr().out.startswith(f"::error file={file},line=1,col=1,title=")


def test_json_has_the_results_of_the_functions_specification(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["check", "--repo", FIRES, "-o", "json", *HOME])
    result, _ = json.loads(capsys.readouterr().out)["results"]
    about = result["resourceRef"]
    assert (about["kind"], about["namespace"], about["name"]) == ("ConfigMap", "shop", "settings")
    place = {"line": "1", "column": "1", "clusters": "north"}
    assert result["tags"] == {"rule": "object-shared", **place}
    assert result["file"] == {"path": f"{FIRES}/windowed/both.yaml", "index": 0}


def test_a_finding_of_many_clusters_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("live", "windowed"):
        shutil.copytree(f"{FIRES}/{name}", tmp_path / name)
    for number in range(6):
        shutil.copytree(f"{FIRES}/clusters/north", tmp_path / f"clusters/plant-{number}")
    main(["check", "--repo", str(tmp_path), *HOME])
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("[plant-0, plant-1, plant-2, 3 more]")


def test_what_differs_by_its_cluster_alone_is_one_line_of_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = (Path(FIRES) / "clusters/north/policy.yaml").read_text()
    names = ("plant-1", "plant-2", "plant-10")
    for name in names:
        (tmp_path / f"clusters/{name}").mkdir(parents=True)
        (tmp_path / f"clusters/{name}/sync.yaml").write_text(SYNC.format(path=f"clusters/{name}"))
    clusters = "".join(f"    {name}: {{}}\n" for name in names)
    (tmp_path / "policy.yaml").write_text(f"{policy}  clusters:\n{clusters}")
    made = ["render", str(tmp_path / "policy.yaml"), "--output-dir", str(tmp_path / "windows")]
    assert main([*made, "--all-clusters"]) == 0
    main(["check", "--repo", str(tmp_path)])
    [line] = [each for each in capsys.readouterr().out.splitlines() if "unapplied" in each]
    assert line.endswith("[plant-1, plant-10, plant-2]")
    main(["check", "--repo", str(tmp_path), "-o", "github"])
    assert capsys.readouterr().out.count("windows-unapplied") == 3
