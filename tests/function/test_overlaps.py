"""Two policies on one target of one cluster are refused.

By whatever command is given both, or finds one rendered.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.cli import main
from krm_windows.rules import TWO_POLICIES_UNCLEAR

FIXTURES = Path(__file__).parents[1] / "fixtures/rules"
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {{name: {name}, namespace: flux-system}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [{targets}], mustExist: false}}]
  windows: {{week: {{opens: Mon 08:00, closes: Thu 17:00}}}}
{more}"""


def policy(name: str, targets: str = "apps", more: str = "") -> str:
    """Write a policy, and return the name of its file."""
    Path(f"{name}.yaml").write_text(POLICY.format(name=name, targets=targets, more=more))
    return f"{name}.yaml"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Give what runs a command in an empty repository: it returns the exit code and what was said.

    The line that names the zone rules of every build is left out.
    """
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()

    def command(*argv: str) -> str:
        code = main(argv)
        said = capsys.readouterr()
        return f"{code} {said.out}{re.sub(RELEASE, '', said.err)}"

    return command


Run = Callable[..., str]
RELEASE = r"(?m)^krm-windows: .*, zone rules \S+\n"
NORTH = "  clusters: {north: {}, south: {}}\n"
SOUTH_ELSE = (
    "  clusters: {south: {targets: [{kind: Kustomization, names: [other], mustExist: false}]}, "
    "north: {}}\n"
)


def test_a_fleet_of_two_is_refused(run: Run) -> None:
    """The clusters are named, and nothing is written for them."""
    call = (
        "render",
        policy("a", more=NORTH),
        policy("b", "infra, apps", NORTH),
        "--all-clusters",
        "--output-dir",
        "tree",
    )
    said = run(*call)
    assert said.startswith("1 ")
    assert (
        "Kustomization flux-system/apps is also gated by the policy flux-system/a on north" in said
    )
    assert "(two-policies)" in said
    assert not Path("tree/clusters/north").exists()


def test_a_fleet_shares_a_target_in_no_cluster(run: Run) -> None:
    """One target may have another policy elsewhere: clusters are judged one by one."""
    one, two = (
        policy("a", more="  clusters: {north: {}}\n"),
        policy("b", more="  clusters: {south: {}}\n"),
    )
    assert run("render", one, two, "--all-clusters", "--output-dir", "tree") == "0 "


def test_only_the_cluster_that_shares_is_named(run: Run) -> None:
    """A patch may take the target away."""
    said = run(
        "render",
        policy("a", more=NORTH),
        policy("b", more=SOUTH_ELSE),
        "--all-clusters",
        "--output-dir",
        "tree",
    )
    assert said.startswith("1 ")
    assert "on north" in said
    assert "too on south" not in said
    assert Path("tree/clusters/south").exists()


def test_what_was_rendered_for_a_cluster_counts_wherever_it_lies(run: Run) -> None:
    """By another run, into another tree: the name of the cluster says that it is one."""
    assert (
        run(
            "render",
            policy("a", more=NORTH),
            "--all-clusters",
            "--output-dir",
            "some/tree",
        )
        == "0 "
    )
    said = run("render", policy("b", more=NORTH), "--cluster", "north", "--output-dir", "else")
    assert said.startswith("1 ")
    assert "also gated by the policy flux-system/a on north (some/tree/clusters/north/" in said
    assert (
        run(
            "render",
            policy("c", more="  clusters: {east: {}}\n"),
            "--cluster",
            "east",
            "--output-dir",
            "else",
        )
        == "0 "
    )
    assert run(
        "render", policy("d", more=NORTH), "--all-clusters", "--output-dir", "other"
    ).startswith("1 ")
    assert not Path("other/clusters/north").exists()


def test_a_fleet_is_no_overlap_of_itself(run: Run) -> None:
    """Rendered again, checked, and under a new name."""
    call = ("render", policy("a", more=NORTH), "--all-clusters", "--output-dir", "tree")
    assert run(*call) == run(*call) == run(*call, "--check") == "0 "
    renamed = policy("b", more=f"{NORTH}  formerNames: [flux-system/a]\n")
    assert run("render", renamed, "--all-clusters", "--output-dir", "tree") == "0 "


def test_one_directory_is_one_cluster(run: Run) -> None:
    """Two policies rendered into it are applied together, named or not."""
    assert run("render", policy("a"), "--output-dir", "windows") == "0 "
    said = run("render", policy("b"), "--output-dir", "windows")
    assert said.startswith("1 ")
    assert "(two-policies)" in said


def test_the_actuator_kubectl_has_no_timetable(run: Run) -> None:
    """Its Roles say what it gates."""
    edges = "  actuator: {type: Kubectl}\n"
    assert run("render", policy("a", more=edges), "--output-dir", "out/a").startswith("0 ")
    for more in ("", edges):
        said = run("render", policy("b", more=more), "--output-dir", "out/b")
        assert said.startswith("1 ")
        assert "also gated by the policy flux-system/a (out/a/role" in said


@pytest.mark.parametrize(("name", "fires"), [("fires", True), ("nearly", False)])
def test_siblings_without_a_cluster_are_unclear(run: Run, name: str, *, fires: bool) -> None:
    """Outside of a repository a warning.

    Nothing says that they are for one cluster, nor that they are not.
    """
    Path(".git").rmdir()
    one, two = (FIXTURES / TWO_POLICIES_UNCLEAR.id / f"{name}.yaml").read_text().split("---\n")
    Path("week.yaml").write_text(one)
    Path("nights.yaml").write_text(two)
    assert run("render", "week.yaml", "--output-dir", "windows/week").startswith("0 ")
    said = run("render", "nights.yaml", "--output-dir", "windows/nights")
    assert said.startswith("0 ")
    assert ("(two-policies-unclear)" in said) is fires


def test_siblings_in_a_repository_are_refused(run: Run) -> None:
    """Whatever leads to the directory above applies both; who has them for two clusters says so."""
    assert run("render", policy("a"), "--output-dir", "windows/a") == "0 "
    said = run("render", policy("b"), "--output-dir", "windows/b")
    assert said.startswith("1 ")
    assert "also gated by the policy flux-system/a (windows/a/configmap" in said
    assert "name the cluster in each policy" in said
    assert not Path("windows/b").exists()
    for name, cluster in (("a", "north"), ("b", "south")):
        named = policy(name, more=f"  clusters: {{{cluster}: {{}}}}\n")
        assert run("render", named, "--cluster", cluster, "--output-dir", f"windows/{name}") == "0 "


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_sibling_that_names_no_cluster_is_unclear(run: Run, first: str) -> None:
    """It may be for the cluster that the other one names, and lies beside it."""
    calls = {
        "a": ("render", policy("a", more=NORTH), "--cluster", "north"),
        "b": ("render", policy("b")),
    }
    second = {"a": "b", "b": "a"}[first]
    assert run(*calls[first], "--output-dir", f"clusters/north/{first}") == "0 "
    said = run(*calls[second], "--output-dir", f"clusters/north/{second}")
    assert said.startswith("0 ")
    assert "not both say which cluster they are for" in said
    assert "(two-policies-unclear)" in said
    assert run(*calls[second], "--output-dir", "clusters/south/windows") == "0 "


def test_without_a_repository_siblings_are_seen(run: Run) -> None:
    """What lies right beside the output."""
    Path(".git").rmdir()
    assert run("render", policy("a"), "--output-dir", "windows/a") == "0 "
    assert "(two-policies-unclear)" in run("render", policy("b"), "--output-dir", "windows/b")


def test_to_clean_up_is_no_overlap(run: Run) -> None:
    """`--uninstall` lifts what one policy closed, whoever closes it next."""
    assert run("render", policy("a", more=NORTH), "--cluster", "north", "--output-dir", "a") == "0 "
    both = ("render", policy("b", more=NORTH), "--cluster", "north", "--output-dir", "b")
    assert run(*both).startswith("1 ")
    assert run(*both, "--uninstall") == "0 "


def test_verify_compares_all_policies_of_a_stream(run: Run) -> None:
    """What one build prints is applied to one cluster."""
    for name in ("a", "b"):
        assert run("render", policy(name), "--output-dir", f"{name}/out") == "0 "
    Path("b/out").rename("a/out/b")
    with Path("a/out/kustomization.yaml").open("a") as kustomization:
        kustomization.write("- b\n")
    said = run("verify", "a/out", "--policy", "a.yaml")
    assert said.startswith("1 ")
    assert "also gated by the policy flux-system/b" in said
    policy("b", "other")
    assert run("render", "b.yaml", "--output-dir", "c/out") == "0 "
    shutil.rmtree("a/out/b")
    Path("c/out").rename("a/out/b")
    assert "(two-policies)" not in run("verify", "a/out", "--policy", "a.yaml")
