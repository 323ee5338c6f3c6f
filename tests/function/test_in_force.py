"""What is written is not yet in force.

`check --repo`, `render` and `verify` say what nothing applies, or fails to.
"""

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


@pytest.fixture
def repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], Path]
) -> Path:
    """Work in a repository with one cluster of two Kustomizations."""
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    for folder in (".git", "live", "windowed", "policies", str(CLUSTER)):
        Path(folder).mkdir(parents=True)
    Path("live/live.yaml").write_text(config_map("l"))
    Path("windowed/windowed.yaml").write_text(config_map("w"))
    Path(CLUSTER, "flux.yaml").write_text(kustomization("live") + kustomization("windowed"))
    return tmp_path


@pytest.fixture
def found(repository: Path, capsys: pytest.CaptureFixture[str]) -> Found:
    """Give what checks the repository, and returns rule and file of each finding."""

    def check() -> list[tuple[str, str]]:
        assert repository == Path.cwd()
        capsys.readouterr()
        main(["check", "--repo", ".", "-o", "json", "--no-cache", "--source", "flux-system=."])
        results = json.loads(capsys.readouterr().out)["results"]
        return [
            (each["tags"]["rule"], f"{each['file']['path']}:{each['tags']['line']}")
            for each in results
            # Tests move what was rendered: its command then leads elsewhere.
            if each["tags"]["rule"] != "windows-stale"
        ]

    return check


def rendered(*options: str) -> None:
    """Render the policy into a directory that the cluster may apply or not."""
    shutil.copy(RULES / LOCAL_CONFIG.id / "nearly.yaml", POLICY)
    assert main(["render", POLICY, "--output-dir", "windows/north", *options]) == 0


@pytest.mark.parametrize(("name", "wanted"), [("fires", [WINDOWS_UNAPPLIED.id]), ("nearly", [])])
def test_windows_that_are_listed_nowhere_are_not_applied(
    name: str, wanted: list[str], found: Found
) -> None:
    """The policy's file beside them makes no difference."""
    rendered()
    shutil.copy(RULES / WINDOWS_UNAPPLIED.id / f"{name}.yaml", CLUSTER / "kustomization.yaml")
    every = found()
    assert [rule for rule, _ in every] == wanted
    assert all(place.startswith("windows/north/configmap_") for _, place in every)


def test_a_policy_among_what_flux_applies_is_not_in_force_by_that(found: Found) -> None:
    """It is in the cluster's own directory, and its windows are listed nowhere."""
    rendered()
    shutil.move(POLICY, CLUSTER / "policy.yaml")
    listing = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
    (CLUSTER / "kustomization.yaml").write_text(f"{listing}- policy.yaml\n")
    assert [rule for rule, _ in found()] == [WINDOWS_UNAPPLIED.id]
    shutil.rmtree("windows")
    assert [rule for rule, _ in found()] == ["policy-file-alone"]


def test_windows_that_are_applied_in_part_are_found(found: Found) -> None:
    """Somebody lists the files one by one, and forgets one: without any of these nothing closes."""
    rendered()
    head = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
    files = sorted(
        path.name for path in Path("windows/north").iterdir() if path.name != "kustomization.yaml"
    )
    shutil.move("windows/north", CLUSTER / "windows")
    (CLUSTER / "windows/kustomization.yaml").unlink()
    needed = [name for name in files if not name.startswith(("job_", "validatingadmission"))]
    assert len(needed) > 6
    for left_out in ("", *needed):
        wanted = ["delivery-changed"] if left_out else []
        listed = "".join(f"- windows/{name}\n" for name in files if name != left_out)
        (CLUSTER / "kustomization.yaml").write_text(head + listed)
        assert [rule for rule, _ in found()] == wanted


def test_windows_that_are_applied_in_part_are_found_by_what_they_are(found: Found) -> None:
    """Not by the names of their files, which somebody may have changed."""
    rendered()
    head = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
    shutil.move("windows/north", CLUSTER / "windows")
    (CLUSTER / "windows/kustomization.yaml").unlink()
    listed = ""
    for number, path in enumerate(sorted(Path(CLUSTER, "windows").iterdir())):
        renamed = path.rename(path.with_name(f"{number}.yaml"))
        if "kind: RoleBinding" not in renamed.read_text():
            listed += f"- windows/{renamed.name}\n"
    (CLUSTER / "kustomization.yaml").write_text(head + listed)
    assert [rule for rule, _ in found()] == ["delivery-changed"]


def test_what_is_not_followed_may_apply_them(found: Found) -> None:
    """Then it is mentioned, and no error."""
    rendered()
    lost = kustomization("windows", source="elsewhere")
    Path(CLUSTER, "flux.yaml").write_text(kustomization("live") + kustomization("windowed") + lost)
    assert sorted(rule for rule, _ in found()) == ["not-followed", "policy-file-alone"]


def test_windows_in_no_path_are_not_applied(found: Found) -> None:
    """Without a kustomization Flux applies what lies below its path, and nothing else."""
    rendered()
    assert [rule for rule, _ in found()] == [WINDOWS_UNAPPLIED.id]
    shutil.move("windows/north", CLUSTER / "windows")
    assert found() == []


def test_windows_of_a_cluster_have_to_be_applied_there(found: Found) -> None:
    """Those of each cluster are searched for in that cluster alone."""
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
    shutil.copy(RULES / LOCAL_CONFIG.id / f"{name}.yaml", CLUSTER / "policy.yaml")
    assert ((LOCAL_CONFIG.id, f"{CLUSTER}/policy.yaml:3") in found()) is fires


def test_a_kustomization_of_a_policy_alone_is_a_transformer(repository: Path) -> None:
    """As examples/base-and-patches has it.

    `transformers:` names the directory, and patches change the policy.
    """
    folder = repository / CLUSTER / "policy"
    folder.mkdir()
    shutil.copy(RULES / LOCAL_CONFIG.id / "fires.yaml", folder / "policy.yaml")
    (folder / "kustomization.yaml").write_text("resources:\n- policy.yaml\n")
    assert main(["render", f"{CLUSTER}/policy/policy.yaml", "--output-dir", "windows"]) == 0


def _is_found(policy: str, said: str) -> bool:
    """Whether a finding says at its third line that a policy lacks the annotation."""
    lines = [line for line in said.splitlines() if line.endswith("(local-config)")]
    return any(line.startswith(f"{policy}:3:1: ") for line in lines)


@pytest.mark.parametrize("name", ["fires", "nearly"])
@pytest.mark.parametrize("where", ["bootstrapped", "listed", "listed before ---"])
def test_render_and_verify_look_where_the_policy_lies(
    where: str, name: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Flux was bootstrapped it makes a kustomization of all files.

    One that is there lists it, or not.
    """
    file = repository / CLUSTER / "policy.yaml"
    shutil.copy(RULES / LOCAL_CONFIG.id / f"{name}.yaml", file)
    if where == "bootstrapped":
        (repository / CLUSTER / "flux-system").mkdir()
    else:
        listing = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
        end = where.removeprefix("listed").removeprefix(" before ")
        (repository / CLUSTER / "kustomization.yaml").write_text(f"{listing}- policy.yaml\n{end}\n")
    policy = f"{CLUSTER}/policy.yaml"
    code = main(["render", policy, "--output-dir", "windows"])
    said = capsys.readouterr().err
    assert code == (1 if name == "fires" else 0)
    assert _is_found(policy, said) is (name == "fires")
    assert Path("windows").exists() is (name == "nearly")
    main(["verify", "live", "--policy", policy])
    assert _is_found(policy, capsys.readouterr().err) is (name == "fires")


def test_a_plugin_needs_no_annotation(repository: Path) -> None:
    """A kustomization that runs the policy, but does not list it, applies none of it.

    It would be listed among its resources.
    """
    assert repository == Path.cwd()
    shutil.copy(RULES / LOCAL_CONFIG.id / "fires.yaml", CLUSTER / "policy.yaml")
    listing = (RULES / WINDOWS_UNAPPLIED.id / "fires.yaml").read_text()
    Path(CLUSTER, "kustomization.yaml").write_text(f"{listing}transformers:\n- policy.yaml\n")
    assert main(["render", f"{CLUSTER}/policy.yaml", "--output-dir", "windows"]) == 0


def test_a_policy_in_what_a_build_printed_is_found(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever forgot the annotation sees it in the output."""
    assert repository == Path.cwd()
    rendered()
    shutil.copy(RULES / LOCAL_CONFIG.id / "fires.yaml", "windows/north/policy.yaml")
    with Path("windows/north/kustomization.yaml").open("a") as kustomization:
        kustomization.write("- policy.yaml\n")
    assert main(["verify", "windows/north", "--policy", POLICY]) == 1
    assert "(local-config)" in capsys.readouterr().err


def test_a_forgotten_cluster_is_said_with_its_line(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By each command that is given the policy's file."""
    shutil.copy(RULES / "cluster-null/fires.yaml", repository / "policy.yaml")
    calls = (
        ["render", "policy.yaml", "--all-clusters", "--output-dir", "tree"],
        ["render", "policy.yaml", "--cluster", "edge-2", "--output-dir", "tree"],
        ["check", "policy.yaml"],
        ["verify", "live", "--policy", "policy.yaml"],
    )
    for call in calls:
        assert main(call) == 1
        said = capsys.readouterr()
        lines = (said.out + said.err).splitlines()
        found = [line for line in lines if line.endswith("(cluster-null)")]
        assert [line.partition(" ")[0] for line in found] == ["policy.yaml:16:5:"]
    assert not Path("tree").exists()
