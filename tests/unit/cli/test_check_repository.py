"""`krm-windows check --repo`, as a person or a pipeline calls it."""

import json
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
    ("arguments", "said", "code"),
    [
        (["check"], "needs either a POLICY or --repo DIR", 2),
        (["check", "policy.yaml", "--repo", FIRES], "needs either a POLICY or --repo DIR", 2),
        (["check", "--repo", f"{FIRES}/nothing"], "no such directory", 1),
        (["check", "--repo", FIRES, "--clusters", "fleet/*"], "no directory matches fleet/*", 1),
        (["check", "--repo", FIRES, "--base", "no-such-commit"], "no-such-commit", 1),
        (["check", "--repo", FIRES, "--jobs", "0"], "must be a number of builds", 2),
        (
            ["check", "--repo", FIRES, "--source", "apps"],
            "'apps' must be a source such as flux-system=.",
            2,
        ),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    arguments: list[str], said: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a line; what the repository does not have is no wrong call."""
    assert main(arguments) == code
    assert said in capsys.readouterr().err


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return a repository whose clusters are in no usual place."""
    for name in ("north", "south"):
        (tmp_path / f"deploy/clusters/{name}").mkdir(parents=True)
        text = (Path(FIRES) / "clusters/north/flux.yaml").read_text()
        (tmp_path / f"deploy/clusters/{name}/flux.yaml").write_text(text)
    return tmp_path


def test_without_a_pattern_what_flux_syncs_is_checked(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if it had been named. A name alone is a guess."""
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
    policy = (Path(FIRES) / "clusters/north/policy.yaml").read_text()
    (elsewhere / "deploy/clusters/north/deploy-windows.yaml").write_text(policy)
    main(["check", "--repo", str(elsewhere)])
    assert "1 cluster" in capsys.readouterr().out


def test_a_cluster_of_several_directories_is_each_that_is_synced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`clusters/demo` has what they share, too."""
    for name in ("00", "01"):
        directory = tmp_path / "clusters/demo" / name
        directory.mkdir(parents=True)
        (directory / "flux.yaml").write_text(SYNC.format(path=f"clusters/demo/{name}"))
    (tmp_path / "clusters/demo/base").mkdir()
    (tmp_path / "clusters/demo/base/kustomization.yaml").write_text("resources: [shared.yaml]\n")
    main(["check", "--repo", str(tmp_path)])
    assert "2 clusters, 2 of 2 Kustomizations" in capsys.readouterr().out


def test_a_hub_is_checked_and_not_the_directories_of_its_spokes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`clusters/*` may have what a hub applies to other clusters, and no Kustomization."""
    for place, text in {
        "hub/sync.yaml": SYNC.format(path="hub"),
        "clusters/spoke/apps/c.yaml": "{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}\n",
    }.items():
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text)
    main(["check", "--repo", str(tmp_path)])
    assert "1 cluster" in capsys.readouterr().out


def test_the_policy_of_another_cluster_gates_nothing_of_those_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It lies in that cluster's directory, which this pattern does not name."""
    policy = (Path(FIRES) / "clusters/north/policy.yaml").read_text()
    for directory in ("sites/north", "hub/south"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "flux.yaml").write_text(SYNC.format(path=directory))
    (tmp_path / "sites/north/deploy-windows.yaml").write_text(policy)
    for pattern, policies in {"hub/*": "0 policies", "sites/*": "1 policy"}.items():
        main(["check", "--repo", str(tmp_path), "--clusters", pattern])
        assert f"1 cluster, 1 of 2 Kustomizations, {policies}" in capsys.readouterr().out


def test_a_repository_without_clusters_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that looks at nothing would find no fault."""
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n")
    assert main(["check", "--repo", str(tmp_path)]) == 1
    assert "no directory matches clusters/*" in capsys.readouterr().err


def test_errors_fail_and_warnings_only_when_strict(capsys: pytest.CaptureFixture[str]) -> None:
    """As everywhere."""
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
    """File, line, severity, object, message, rule, clusters."""
    monkeypatch.chdir(FIXTURES)
    main(["check", "--repo", "object-shared/fires", *HOME])
    first, alone, last = capsys.readouterr().out.splitlines()
    assert alone.endswith("(policy-file-alone) [north]")
    assert first.startswith(
        "object-shared/fires/windowed/both.yaml:1:1: [error] ConfigMap shop/settings: is applied by"
    )
    assert first.endswith("(object-shared) [north]")
    assert (
        last == "object-shared/fires: 1 cluster, 3 of 3 Kustomizations, 1 policy: 1 error, 1 info"
    )


def test_github_names_file_and_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative to where the command was called."""
    monkeypatch.chdir(FIXTURES / "target-suspend/fires")
    main(["check", "--repo", ".", "-o", "github", *HOME])
    assert capsys.readouterr().out.startswith(
        "::error file=clusters/north/flux.yaml,line=26,col=3,title="
    )


def test_json_has_the_results_of_the_functions_specification(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With line and clusters among the tags."""
    main(["check", "--repo", FIRES, "-o", "json", *HOME])
    result, _ = json.loads(capsys.readouterr().out)["results"]
    assert result["resourceRef"] == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "settings",
        "namespace": "shop",
    }
    assert result["tags"] == {
        "rule": "object-shared",
        "line": "1",
        "column": "1",
        "clusters": "north",
    }
    assert result["file"] == {"path": f"{FIRES}/windowed/both.yaml", "index": 0}


def test_a_finding_of_many_clusters_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the first few of them."""
    text = (Path(FIRES) / "clusters/north/flux.yaml").read_text()
    policy = (Path(FIRES) / "clusters/north/policy.yaml").read_text()
    for path in ("live/both.yaml", "windowed/both.yaml"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text((Path(FIRES) / path).read_text())
    for number in range(6):
        (tmp_path / f"clusters/plant-{number}").mkdir(parents=True)
        (tmp_path / f"clusters/plant-{number}/flux.yaml").write_text(text)
        (tmp_path / f"clusters/plant-{number}/policy.yaml").write_text(policy)
    main(["check", "--repo", str(tmp_path), *HOME])
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith("[plant-0, plant-1, plant-2, 3 more]")
