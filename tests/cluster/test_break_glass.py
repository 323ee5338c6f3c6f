"""Break glass: the commands of the page, from a clone to an open window, with Git and without."""

import subprocess
from pathlib import Path

import pytest
from environment import AUTHOR, CLOSED, PARENT, Environment, eventually, throughout
from lab.settings import GIT
from shown import ROOT, commands, renewed, run

PAGE = ROOT / "docs/how-to/break-glass.md"
INTERVALS = 40  # seconds, in which Flux and the gate would take back what does not hold


@pytest.fixture
def clone(env: Environment, kubectl: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    env.begin()
    text = env.policy_text({**CLOSED, "interval": "1m"})
    env.write("windows.yaml", text)
    env.render("windows.yaml", "cluster/windows")
    env.include("windows")
    env.commit("Set windows")
    env.eventually_closed()
    env.release("2")
    eventually("the release is fetched", lambda: env.head() in env.revision())
    for key, value in AUTHOR.items():
        kubectl.setenv(key, value)
    place = tmp_path / "clone"
    command = ["git", "clone", "--quiet", GIT / f"{env.name}.git", place]
    subprocess.run(command, check=True)
    return place


def follow(env: Environment, title: str, folder: Path) -> None:
    """Run the commands below a heading of the page, whose names are those of the test."""
    [section] = [each for each in PAGE.read_text().split("\n## ") if each.startswith(f"{title}\n")]
    text = section.replace("namespace flux-system", f"namespace {env.name}")
    text = text.replace("/flux-system", f"/{PARENT}")
    printed = run(text, folder, examples=False)
    assert len(printed) == len(commands(text)), printed
    assert renewed(text, printed) == text


@pytest.mark.long
def test_break_glass_with_git(env: Environment, clone: Path) -> None:
    """Pushed and fetched, it is open when the last command ends, and stays so."""
    follow(env, "With Git", clone)
    assert env.open()
    env.eventually_applied("2")
    throughout(INTERVALS, "apps is open", env.open)


@pytest.mark.long
def test_break_glass_without_git(env: Environment, clone: Path) -> None:
    """It opens, neither Flux nor the gate takes it back, and afterwards Git is in force again.

    Flux has just begun to apply the old windows, which must not come after the new ones.
    """
    bare = GIT / f"{env.name}.git"
    away = bare.with_suffix(".away")
    bare.rename(away)
    try:
        env.ask_for_delivery()
        follow(env, "Without Git", clone)
        assert env.open()
        env.eventually_applied("2")
        throughout(INTERVALS, "apps is open", env.open)
    finally:
        away.rename(bare)
    follow(env, "When Git is back", clone)
    throughout(INTERVALS, "apps is open", env.open)
    config = env.api.get("configmaps", env.name, "windows-gate")
    managers = {each["manager"] for each in config["metadata"]["managedFields"]}
    assert managers == {"kustomize-controller"}
    jobs = [each["metadata"]["name"] for each in env.api.items("jobs", env.name)]
    assert len([name for name in jobs if name.startswith("windows-apply-")]) == 1
