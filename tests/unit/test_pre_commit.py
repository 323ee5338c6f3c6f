"""The hooks for pre-commit, and the page that shows them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from calls import POLICY
from hostile_checkout import listening, trap
from runners import git

from krm_windows.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/how-to/check-in-ci.md").read_text()
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_of_the_repository_is_a_command(hook: dict[str, str]) -> None:
    program, command, *_ = hook["entry"].split()
    assert program == "krm-windows"
    assert command in COMMANDS
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert f"- id: {hook['id']}\n" in PAGE


@pytest.mark.parametrize(
    ("path", "is_policy"),
    [
        ("windows/policy.yaml", True),
        ("policy.yml", True),
        ("infra/windowpolicy.yaml", True),
        ("infra/window-policy.yaml", True),
        ("infra/network-policy.yaml", False),
        ("windows/rendered/kustomization.yaml", False),
    ],
)
def test_the_hook_checks_files_that_are_named_as_policies(path: str, *, is_policy: bool) -> None:
    [check] = [hook for hook in HOOKS if hook["entry"].endswith(" check")]
    assert bool(re.search(check["files"], path)) is is_policy


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_nothing_of_the_checkout(hook: dict[str, str], tmp_path: Path) -> None:
    given = {
        "krm-windows-check": ["windows/policy.yaml", "--output=json/policy.yaml"],
        "krm-windows-render": ["windows/policy.yaml", "--output-dir=rendered"],
        "krm-windows-check-repo": ["--base=HEAD"],
    }
    place = tmp_path / "checkout"
    for name in ("windows", "--output=json"):
        (place / name).mkdir(parents=True)
        (place / name / "policy.yaml").write_text(POLICY)
    git(place, "init", "--quiet")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=x")
    _, *words = hook["entry"].split()
    program = Path(sys.executable).with_name("krm-windows")
    with listening(tmp_path / "pipe") as pipe:
        trap(place, pipe)
        done = subprocess.run(
            [program, *words, *hook.get("args", []), *given[hook["id"]]],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        )
        assert pipe.said() == set()
    assert "usage:" not in done.stderr
    assert done.returncode == (hook["id"] == "krm-windows-check-repo"), done
