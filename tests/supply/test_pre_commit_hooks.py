"""The hooks for pre-commit: installed by it from a clone, and run as its users run them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, SYNC
from conftest import lacking
from releases import ROOT

SOMEBODY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
CONFIG = """\
repos:
- repo: {source}
  rev: {revision}
  hooks:
  - id: krm-windows-check
    files: ^windows/[^/]+\\.yaml$
  - id: krm-windows-render
    files: ^windows/
    args: [windows/policy.yaml, --output-dir=windows/rendered, --check]
  - id: krm-windows-check-repo
    args: [--source, flux-system/fleet=.]
"""
CHECK, RENDER, REPOSITORY = (
    hook["name"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
)
ALL_PASS = {CHECK: "Passed", RENDER: "Passed", REPOSITORY: "Passed"}
WRONG = POLICY.replace("Mon 08:00", "Moonday 08:00")


@dataclass
class Fleet:
    """A repository that has the hooks."""

    place: Path
    program: Path
    environment: dict[str, str]
    said: str = ""

    def call(self, *command: str | Path, below: str = "") -> subprocess.CompletedProcess[str]:
        """Start a program in a folder of the repository, with everything in Git's index."""
        git(self.place, "add", ".")
        return subprocess.run(
            command,
            cwd=self.place / below,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *arguments: str, below: str = "") -> dict[str, str]:
        """Run the hooks, and return which passed; `said` is what they print."""
        done = self.call(self.program, "run", "--color=never", *arguments, below=below)
        self.said = done.stdout
        states = dict(
            re.findall(r"^(.+?)\.{3,}.*?(Passed|Failed|Skipped)$", done.stdout, re.MULTILINE)
        )
        assert states, done.stdout + done.stderr
        assert (done.returncode == 1) is ("Failed" in states.values())
        return states

    def commit(self, below: str) -> subprocess.CompletedProcess[str]:
        """Commit everything, from a folder below."""
        return self.call("git", *SOMEBODY, "commit", "--quiet", "--message=x", below=below)

    def render(self) -> None:
        """Render the policy, as the hook wants it."""
        command = ["krm-windows", "render", "windows/policy.yaml", "--output-dir"]
        assert self.call(*command, "windows/rendered").returncode == 0

    def write(self, text: str, name: str = "policy.yaml") -> None:
        """Write a policy."""
        (self.place / "windows" / name).write_text(text)


def git(folder: Path, *words: str) -> str:
    """Run Git as somebody; return what it prints."""
    command = ["git", "-C", str(folder), *SOMEBODY, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """A repository with one cluster and a policy, that takes the hooks from a clone of ours."""
    program = Path(sys.executable).with_name("pre-commit")
    if not program.exists():
        lacking("pre-commit is not installed (it comes with the extra dev)")
    source = tmp_path / "copy-of-krm-windows"
    git(tmp_path, "clone", "--quiet", str(ROOT), str(source))
    for name in (".pre-commit-hooks.yaml", "pyproject.toml"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    git(source, "add", ".")
    git(source, "commit", "--quiet", "--allow-empty", "--message=Hooks")
    place = tmp_path / "fleet"
    cluster = place / "clusters/north"
    for folder in (place / "windows", place / "apps", cluster):
        folder.mkdir(parents=True)
    (place / "apps/web.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    (cluster / "flux-system.yaml").write_text(SYNC)
    (cluster / "apps.yaml").write_text(APPS)
    (cluster / "kustomization.yaml").write_text(
        "resources: [flux-system.yaml, apps.yaml, ../../windows/rendered]\n"
    )
    git(place, "init", "--quiet")
    config = CONFIG.format(source=source, revision=git(source, "rev-parse", "HEAD"))
    (place / ".pre-commit-config.yaml").write_text(config)
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    return Fleet(place, program, environment)


@pytest.mark.slow  # makes an environment, once for all of it
def test_pre_commit_runs_the_hooks(fleet: Fleet) -> None:
    """From a clone, as its users do: what is right passes, each mistake is found by its hook."""
    finds_each_mistake(fleet)
    tells_several_files_apart(fleet)
    refuses_a_commit(fleet)


def finds_each_mistake(fleet: Fleet) -> None:
    """And says where it is, and what to write."""
    fleet.write(POLICY)
    # Not rendered yet, so the cluster is built from a directory that is not there.
    failed = {CHECK: "Passed", RENDER: "Failed", REPOSITORY: "Failed"}
    assert fleet.run("--all-files") == failed
    assert "windows/rendered" in fleet.said
    fleet.render()
    assert fleet.run("--all-files") == ALL_PASS
    fleet.write(POLICY.replace("Thu 17:00", "Fri 17:00"))
    assert fleet.run("--all-files")[RENDER] == "Failed"
    assert '+  schedule: "0 17 * * 5"' in fleet.said
    assert "krm-windows: 7 files out of date (the same command without --check" in fleet.said
    fleet.write(WRONG)
    assert fleet.run("--all-files")[CHECK] == "Failed"
    assert "windows/policy.yaml:13:7: [error] WindowPolicy flux-system/week" in fleet.said
    assert 'got "Moonday 08:00"; did you mean "Monday 08:00"? (moment-syntax)' in fleet.said


def tells_several_files_apart(fleet: Fleet) -> None:
    """Whatever is in their names, and from a folder below."""
    fleet.write(POLICY)
    for name, text in {"of the shop.yaml": WRONG, "of the bank.yaml": POLICY}.items():
        fleet.write(text.replace("name: week", "name: other").replace("apps", "infra"), name)
    assert fleet.run("--all-files", below="windows")[CHECK] == "Failed"
    assert "windows/of the shop.yaml:13:7: [error] WindowPolicy flux-system/other" in fleet.said
    assert "windows/of the bank.yaml:" not in fleet.said.partition(RENDER)[0]
    (fleet.place / "windows/of the shop.yaml").unlink()
    two = ("--files", "of the bank.yaml", "policy.yaml")
    assert fleet.run(*two, below="windows")[CHECK] == "Passed"
    (fleet.place / "windows/of the bank.yaml").unlink()


def refuses_a_commit(fleet: Fleet) -> None:
    """From a folder below, too; one that concerns no policy is none of the hooks' business."""
    assert fleet.call(fleet.program, "install").returncode == 0
    assert fleet.commit("windows").returncode == 0
    fleet.write(WRONG)
    refused = fleet.commit("windows")
    assert refused.returncode == 1
    assert 'got "Moonday 08:00"' in refused.stdout + refused.stderr
    fleet.write(POLICY)
    (fleet.place / "README.md").write_text("A fleet.\n")
    done = fleet.commit("apps")
    assert done.returncode == 0
    said = done.stdout + done.stderr
    assert re.findall(r"^(.+?)\.{3,}.*Skipped$", said, re.MULTILINE) == [CHECK, RENDER, REPOSITORY]
