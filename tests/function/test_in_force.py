"""What is written is not yet in force: `check`, `render` and `verify` say what nothing applies."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flux_texts import config_map, kustomization

from krm_windows.cli import main
from krm_windows.rules import LOCAL_CONFIG, WINDOWS_UNAPPLIED

FIXTURES = Path(__file__).parents[1] / "fixtures"
RULES = FIXTURES / "rules"
CLUSTER = Path("clusters/north")
POLICY = "policies/policy.yaml"

Found = Callable[[], list[tuple[str, str]]]


@pytest.fixture(autouse=True)
def _repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], Path]
) -> None:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    for folder in (".git", "live", "windowed", "policies", str(CLUSTER)):
        Path(folder).mkdir(parents=True)
    Path("live/live.yaml").write_text(config_map("l"))
    Path("windowed/windowed.yaml").write_text(config_map("w"))
    Path(CLUSTER, "flux.yaml").write_text(kustomization("live") + kustomization("windowed"))


@pytest.fixture
def found(capsys: pytest.CaptureFixture[str]) -> Found:
    def check() -> list[tuple[str, str]]:
        capsys.readouterr()
        main(["check", "--repo", ".", "-o", "json", "--no-cache", "--source", "flux-system=."])
        results = json.loads(capsys.readouterr().out)["results"]
        every = [
            (each["tags"]["rule"], f"{each['file']['path']}:{each['tags']['line']}")
            for each in results
        ]
        # Tests move what was rendered: its command then leads elsewhere.
        return [each for each in every if each[0] != "windows-stale"]

    return check


def listing(more: str) -> None:
    text = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
    (CLUSTER / "kustomization.yaml").write_text(text + more)


def lay(name: str, path: Path) -> str:
    """Put a policy somewhere: one that `fires` lacks the annotation."""
    shutil.copy(RULES / LOCAL_CONFIG.id / f"{name}.yaml", path)
    return str(path)


def rendered(*options: str) -> None:
    shutil.copy(RULES / LOCAL_CONFIG.id / "nearly.yaml", POLICY)
    assert main(["render", POLICY, "--output-dir", "windows/north", *options]) == 0


@pytest.mark.parametrize(("name", "wanted"), [("fires", [WINDOWS_UNAPPLIED.id]), ("nearly", [])])
def test_windows_that_are_listed_nowhere_are_not_applied(
    name: str, wanted: list[str], found: Found
) -> None:
    rendered()
    shutil.copy(RULES / WINDOWS_UNAPPLIED.id / f"{name}.yaml", CLUSTER / "kustomization.yaml")
    every = found()
    assert [rule for rule, _ in every] == wanted
    assert all(place.startswith("windows/north/configmap_") for _, place in every)


def test_what_is_not_followed_may_apply_them(found: Found) -> None:
    rendered()
    lost = kustomization("windows", source="elsewhere")
    Path(CLUSTER, "flux.yaml").write_text(kustomization("live") + kustomization("windowed") + lost)
    assert sorted(rule for rule, _ in found()) == ["not-followed", "policy-file-alone"]


def test_windows_in_no_path_are_not_applied(found: Found) -> None:
    rendered()
    assert [rule for rule, _ in found()] == [WINDOWS_UNAPPLIED.id]
    shutil.move("windows/north", CLUSTER / "windows")
    assert found() == []


def test_windows_of_a_cluster_have_to_be_applied_there(found: Found) -> None:
    Path("clusters/south").mkdir()
    shutil.copy(CLUSTER / "flux.yaml", "clusters/south/flux.yaml")
    shutil.copy(RULES / LOCAL_CONFIG.id / "nearly.yaml", POLICY)
    with Path(POLICY).open("a") as file:
        file.write("  clusters: {north: {}, south: {}}\n")
    assert main(["render", POLICY, "--all-clusters", "--output-dir", "tree"]) == 0
    for cluster in ("north", "south"):
        assert sorted(found()).count((WINDOWS_UNAPPLIED.id, _window(cluster))) == 1
        resources = f"resources: [flux.yaml, ../../tree/clusters/{cluster}/reconciliation-window]\n"
        head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        Path("clusters", cluster, "kustomization.yaml").write_text(head + resources)
        assert (WINDOWS_UNAPPLIED.id, _window(cluster)) not in found()


def _window(cluster: str) -> str:
    return f"tree/clusters/{cluster}/reconciliation-window/kustomization.yaml:1"


@pytest.mark.parametrize(("name", "fires"), [("fires", True), ("nearly", False)])
def test_a_policy_that_is_applied_itself_is_found(name: str, found: Found, *, fires: bool) -> None:
    """No cluster knows the kind: by whoever reads the repository, with file and line."""
    policy = lay(name, CLUSTER / "policy.yaml")
    assert ((LOCAL_CONFIG.id, f"{policy}:3") in found()) is fires


def test_a_kustomization_of_a_policy_alone_is_a_transformer() -> None:
    """As examples/base-and-patches has it: patches change the policy."""
    folder = CLUSTER / "policy"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("resources:\n- policy.yaml\n")
    assert main(["render", lay("fires", folder / "policy.yaml"), "--output-dir", "windows"]) == 0


@pytest.mark.parametrize("name", ["fires", "nearly"])
@pytest.mark.parametrize("end", [None, "", "---\n"])
def test_render_and_verify_look_where_the_policy_lies(
    end: str | None, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Flux was bootstrapped it makes a kustomization of all files."""
    policy = lay(name, CLUSTER / "policy.yaml")
    if end is None:
        (CLUSTER / "flux-system").mkdir()
    else:
        listing(f"- policy.yaml\n{end}")
    fires = name == "fires"
    assert main(["render", policy, "--output-dir", "windows"]) == fires
    assert Path("windows").exists() is not fires
    rendering = capsys.readouterr().err
    main(["verify", "live", "--policy", policy])
    for said in (rendering, capsys.readouterr().err):
        lines = [line for line in said.splitlines() if line.endswith("(local-config)")]
        assert [line.startswith(f"{policy}:3:1: ") for line in lines] == [True] * fires


def test_a_plugin_needs_no_annotation() -> None:
    listing("transformers:\n- policy.yaml\n")
    policy = lay("fires", CLUSTER / "policy.yaml")
    assert main(["render", policy, "--output-dir", "windows"]) == 0


def test_a_policy_in_what_a_build_printed_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    rendered()
    lay("fires", Path("windows/north/policy.yaml"))
    with Path("windows/north/kustomization.yaml").open("a") as kustomization:
        kustomization.write("- policy.yaml\n")
    assert main(["verify", "windows/north", "--policy", POLICY]) == 1
    assert "(local-config)" in capsys.readouterr().err
