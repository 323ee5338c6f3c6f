"""Two policies on one target of one cluster are refused by whatever command finds both."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from two_policies import policy

from krm_windows.cli import main
from krm_windows.rules import TWO_POLICIES_UNCLEAR

FIXTURES = Path(__file__).parents[1] / "fixtures/rules"
RELEASE = r"(?m)^krm-windows: .*, zone rules \S+\n"
ONLY = "  clusters: {%s: {}}\n"
BOTH = "  clusters: {north: {}, south: {}}\n"
SOUTH_ELSE = (
    "  clusters: {south: {targets: [{kind: Kustomization, names: [other], mustExist: false}]}, "
    "north: {}}\n"
)
Render = Callable[..., str]


@pytest.fixture
def render(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Render:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()

    def command(output: str, *words: str) -> str:
        code = main(["render", *words, "--output-dir", output])
        said = capsys.readouterr()
        return f"{code} {said.out}{re.sub(RELEASE, '', said.err)}"

    return command


def test_a_fleet_of_two_is_refused(render: Render) -> None:
    said = render(
        "tree", policy("a", more=BOTH), policy("b", "infra, apps", BOTH), "--all-clusters"
    )
    assert said.startswith("1 ")
    assert (
        "Kustomization flux-system/apps is also gated by the policy flux-system/a on north" in said
    )
    assert "(two-policies)" in said
    assert not Path("tree/clusters/north").exists()


def test_clusters_are_judged_one_by_one(render: Render) -> None:
    apart = (policy("a", more=ONLY % "north"), policy("b", more=ONLY % "south"))
    assert render("apart", *apart, "--all-clusters") == "0 "
    said = render("tree", policy("a", more=BOTH), policy("b", more=SOUTH_ELSE), "--all-clusters")
    assert said.startswith("1 ")
    assert "on north" in said
    assert "too on south" not in said
    assert Path("tree/clusters/south").exists()


@pytest.mark.usefixtures("render")
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (BOTH, ONLY % "north", "also gated by the policy flux-system/a on north; remove"),
        (SOUTH_ELSE, BOTH, "also gated by the policy flux-system/a on north; remove"),
        (ONLY % "north", ONLY % "south", ""),
        ("", "", "also gated by the policy flux-system/a; not both say which cluster"),
        (BOTH, "", "also gated by the policy flux-system/a on north; not both say which"),
        ("", BOTH, "also gated by the policy flux-system/a on north; not both say which"),
    ],
)
def test_policies_are_judged_together_when_they_are_checked(
    first: str, second: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [policy("a", more=first), policy("b", more=second)]
    for more in ([], ["--all-clusters"]):
        assert main(["check", *both, *more]) == said.endswith("remove")
        found = " ".join(capsys.readouterr().out.split())
        assert found.count("two-policies") == bool(said)
        assert said in found


def test_what_was_rendered_for_a_cluster_counts_wherever_it_lies(render: Render) -> None:
    """By another run, into another tree: the name of the cluster says that it is one."""
    assert render("some/tree", policy("a", more=BOTH), "--all-clusters") == "0 "
    said = render("else", policy("b", more=BOTH), "--cluster", "north")
    assert said.startswith("1 ")
    assert "also gated by the policy flux-system/a on north (some/tree/clusters/north/" in said
    assert render("else", policy("c", more=ONLY % "east"), "--cluster", "east") == "0 "
    assert render("other", policy("d", more=BOTH), "--all-clusters").startswith("1 ")
    assert not Path("other/clusters/north").exists()


def test_a_fleet_is_no_overlap_of_itself(render: Render) -> None:
    again = ("tree", policy("a", more=BOTH), "--all-clusters")
    assert render(*again) == render(*again) == render(*again, "--check") == "0 "
    renamed = policy("b", more=f"{BOTH}  formerNames: [flux-system/a]\n")
    assert render("tree", renamed, "--all-clusters") == "0 "


def test_one_directory_is_one_cluster(render: Render) -> None:
    assert render("windows", policy("a")) == "0 "
    said = render("windows", policy("b"))
    assert said.startswith("1 ")
    assert "(two-policies)" in said


def test_the_actuator_kubectl_has_no_timetable(render: Render) -> None:
    """Its Roles say what it gates."""
    edges = "  actuator: {type: Kubectl}\n"
    assert render("out/a", policy("a", more=edges)).startswith("0 ")
    for more in ("", edges):
        said = render("out/b", policy("b", more=more))
        assert said.startswith("1 ")
        assert "also gated by the policy flux-system/a (out/a/role" in said


@pytest.mark.parametrize(("name", "fires"), [("fires", True), ("nearly", False)])
def test_siblings_outside_of_a_repository_are_unclear(
    render: Render, name: str, *, fires: bool
) -> None:
    """Nothing says that they are for one cluster, nor that they are not."""
    Path(".git").rmdir()
    one, two = (FIXTURES / TWO_POLICIES_UNCLEAR.id / f"{name}.yaml").read_text().split("---\n")
    Path("week.yaml").write_text(one)
    Path("nights.yaml").write_text(two)
    assert render("windows/week", "week.yaml").startswith("0 ")
    said = render("windows/nights", "nights.yaml")
    assert said.startswith("0 ")
    assert ("(two-policies-unclear)" in said) is fires


def test_siblings_in_a_repository_are_refused(render: Render) -> None:
    """Whatever leads to the directory above applies both; who has them for two clusters says so."""
    assert render("windows/a", policy("a")) == "0 "
    said = render("windows/b", policy("b"))
    assert said.startswith("1 ")
    assert "also gated by the policy flux-system/a (windows/a/configmap" in said
    assert "name the cluster in each policy" in said
    assert not Path("windows/b").exists()
    for name, cluster in (("a", "north"), ("b", "south")):
        named = policy(name, more=ONLY % cluster)
        assert render(f"windows/{name}", named, "--cluster", cluster) == "0 "


@pytest.mark.parametrize("first", [0, 1])
def test_a_sibling_that_names_no_cluster_is_unclear(render: Render, first: int) -> None:
    """It may be for the cluster that the other one names, and lies beside it."""
    calls = [(policy("a", more=BOTH), "--cluster", "north"), (policy("b"),)]
    assert render("clusters/north/first", *calls[first]) == "0 "
    said = render("clusters/north/second", *calls[1 - first])
    assert said.startswith("0 ")
    assert "not both say which cluster they are for" in said
    assert "(two-policies-unclear)" in said
    assert render("clusters/south/windows", *calls[1 - first]) == "0 "


def test_to_clean_up_is_no_overlap(render: Render) -> None:
    """`--uninstall` lifts what one policy closed, whoever closes it next."""
    assert render("a", policy("a", more=BOTH), "--cluster", "north") == "0 "
    both = ("b", policy("b", more=BOTH), "--cluster", "north")
    assert render(*both).startswith("1 ")
    assert render(*both, "--uninstall") == "0 "


def test_verify_compares_all_policies_of_a_stream(
    render: Render, capsys: pytest.CaptureFixture[str]
) -> None:
    """What one build prints is applied to one cluster."""
    for name in ("a", "b"):
        assert render(f"{name}/out", policy(name)) == "0 "
    Path("b/out").rename("a/out/b")
    with Path("a/out/kustomization.yaml").open("a") as kustomization:
        kustomization.write("- b\n")
    verify = ["verify", "a/out", "--policy", "a.yaml"]
    assert main(verify) == 1
    assert "also gated by the policy flux-system/b" in "".join(capsys.readouterr())
    assert render("c/out", policy("b", "other")) == "0 "
    shutil.rmtree("a/out/b")
    Path("c/out").rename("a/out/b")
    main(verify)
    assert "(two-policies)" not in "".join(capsys.readouterr())
