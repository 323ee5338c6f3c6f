"""A target that moves from one policy to another in one commit: nothing has to be listed for it."""

import re
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from effort import mostly_slow
from two_policies import policy

from krm_windows.cli import main
from krm_windows.krm import KubeObject

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("windows").mkdir()
    Path("windows/kustomization.yaml").write_text("resources: [a, b]\n")

    def command(*argv: str) -> str:
        code = main(argv)
        lines = "".join(capsys.readouterr()).splitlines()
        found = [match[1] for line in lines if (match := re.search(r"\(([a-z-]+)\)$", line))]
        return " ".join([str(code), *sorted(set(found) - {"target-unseen", "delivered-together"})])

    return command


def render(run: Run, name: str) -> str:
    return run("render", f"{name}.yaml", "--output-dir", f"windows/{name}")


def begun(run: Run) -> None:
    policy("a", "infra, apps")
    policy("b", "web")
    assert [render(run, name) for name in "ab"] == ["0", "0"]


def targets_of(name: str) -> list[str]:
    [role] = Path(f"windows/{name}").glob("role_*.yaml")
    names = KubeObject.parse(role.read_bytes()).get("rules", 0, "resourceNames")
    assert isinstance(names, list)
    return list(map(str, names))


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("after", [("infra", "web, apps"), ("infra, web", "apps")])
def test_one_by_one(run: Run, order: str, after: tuple[str, str]) -> None:
    policy("a", "infra, apps")
    policy("b", "web", namespace="shop")
    assert [render(run, name) for name in "ab"] == ["0", "0"]
    policy("a", after[0])
    policy("b", after[1], namespace="shop")
    assert [render(run, name) for name in order] == ["0", "0"]
    assert targets_of("a") == sorted(after[0].split(", "))
    assert targets_of("b") == sorted(after[1].split(", "))
    assert [render(run, name) for name in order] == ["0", "0"]


@pytest.mark.parametrize("order", mostly_slow(permutations(["a", "b", "c"]), every=3))
def test_a_chain_into_a_new_policy(run: Run, order: tuple[str, ...]) -> None:
    policy("a", "infra, apps")
    policy("b", "web, shop")
    assert [render(run, name) for name in "ab"] == ["0", "0"]
    policy("a", "infra")
    policy("b", "web, apps")
    policy("c", "shop")
    assert [render(run, name) for name in order] == ["0"] * 3


def test_the_old_policy_is_renamed(run: Run) -> None:
    begun(run)
    Path("a.yaml").unlink()
    policy("renamed", "infra", "  formerNames: [flux-system/a]\n")
    policy("b", "web, apps")
    for name in ("b", "renamed"):
        output = f"windows/{'a' if name == 'renamed' else name}"
        assert run("render", f"{name}.yaml", "--output-dir", output) == "0"


def test_a_fleet(run: Run) -> None:
    both = "  clusters: {north: {}, south: {}}\n"
    policy("a", "infra, apps", both)
    policy("b", "web", both)
    tree = ("--all-clusters", "--output-dir", "windows")
    fleet = ("render", "a.yaml", "b.yaml", *tree)
    assert run(*fleet) == "0"
    apart = "  clusters: {north: {}, south: {targets: [{kind: Kustomization, names: [%s]}]}}\n"
    policy("a", "infra, apps", apart % "infra")
    assert run(*fleet) == "1 target-dropped"
    policy("b", "web", apart % "web, apps")
    assert run(*fleet) == "0"
    # All that a has left moves, and a goes.
    policy("b", "web, infra, apps", both)
    assert run("render", "b.yaml", *tree) == "0"


def test_what_nobody_gates_is_still_demanded(run: Run) -> None:
    policy("a", "infra, apps", "  clusters: {north: {}}\n")
    again = ("render", "a.yaml", "--cluster", "north", "--output-dir", "windows/a")
    assert run(*again) == "0"
    Path("before").mkdir()
    Path("a.yaml").rename("before/a.yaml")
    policy("a", "infra", "  clusters: {north: {}}\n")
    policy("south", "apps", "  clusters: {south: {}}\n")
    labels = Path("south.yaml").read_text().replace("name: south", "name: labels")
    labels = labels.replace("names: [apps], mustExist: false", "matchLabels: {a: b}")
    Path("labels.yaml").write_text(labels)
    assert run(*again) == "1 target-dropped"
    policy("north", "apps", "  clusters: {north: {}}\n")
    assert run(*again) == "0"


def test_two_policies_are_still_two(run: Run) -> None:
    policy("a", "infra, apps")
    assert render(run, "a") == "0"
    policy("b", "apps")
    assert render(run, "b") == "1 two-policies"
    policy("a", "infra")
    assert render(run, "b") == "0"
    Path("a.yaml").unlink()
    assert render(run, "b") == "1 two-policies"


def test_diff(run: Run) -> None:
    policy("a", "infra, apps")
    Path("old").mkdir()
    Path("a.yaml").rename("old/a.yaml")
    policy("a", "infra")
    assert run("diff", "old/a.yaml", "a.yaml") == "1 target-dropped"
    policy("b", "apps")
    assert run("diff", "old/a.yaml", "a.yaml") == "0"


PATCH = '{"spec": {"targets": [{"kind": "Kustomization", "names": [%s], "mustExist": false}]}}'


def test_set(run: Run) -> None:
    begun(run)
    give_up = ("set", "a.yaml", "--patch", PATCH % '"infra"')
    assert run(*give_up) == "1 target-dropped"
    policy("b", "web, apps")
    assert run(*give_up) == "0"
    assert (targets_of("a"), render(run, "b")) == (["infra"], "0")


RELEASED = "  released: [{kind: Kustomization, namespace: flux-system, names: [apps]}]\n"


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_what_another_policy_gates_is_not_released(run: Run, order: str) -> None:
    """The old policy's Job would open it, perhaps before the new one's has closed it."""
    begun(run)
    policy("a", "infra", RELEASED)
    policy("b", "web, apps")
    said = [render(run, name) for name in order]
    assert said == ["0", "1 two-policies"]
    # Without it, nothing is in the way; and what nobody gates may be released.
    policy("a", "infra")
    assert [render(run, name) for name in order] == ["0", "0"]
    policy("a", "infra", RELEASED)
    policy("b", "web", RELEASED)
    assert [render(run, name) for name in order] == ["0", "0"]


def test_a_fleet_does_not_release_what_it_gates(run: Run) -> None:
    north = "  clusters: {north: {}}\n"
    policy("a", "infra", RELEASED + "  clusters: {north: {}, south: {}}\n")
    policy("b", "web, apps", north)
    fleet = ("a.yaml", "b.yaml", "--all-clusters", "--output-dir", "windows")
    assert run("render", *fleet) == "1 two-policies"
    policy("b", "web", north)
    assert run("render", *fleet) == "0"


def test_verify_finds_what_is_released(run: Run) -> None:
    policy("a", "infra", RELEASED)
    assert run("render", "a.yaml", "--output-dir", "all/a") == "0"
    policy("b", "web, apps")
    assert run("render", "b.yaml", "--output-dir", "../elsewhere") == "0"
    Path("../elsewhere").rename("all/b")
    for name in "ab":
        assert run("verify", "all", "--policy", f"{name}.yaml") == "1 two-policies"
