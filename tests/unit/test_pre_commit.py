"""The hooks for pre-commit."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from calls import POLICY
from hostile_checkout import listening, trap
from runners import git

ROOT = Path(__file__).resolve().parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


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


GIVEN = {
    "krm-windows-check": ["windows/policy.yaml", "--output=json/policy.yaml"],
    "krm-windows-render": ["windows/policy.yaml", "--output-dir=rendered"],
    "krm-windows-check-repo": ["--base=HEAD"],
}


def test_no_hook_runs_anything_of_the_checkout(tmp_path: Path) -> None:
    place = tmp_path / "checkout"
    for name in ("windows", "--output=json"):
        (place / name).mkdir(parents=True)
        (place / name / "policy.yaml").write_text(POLICY)
    git(place, "init", "--quiet")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=x")
    program = Path(sys.executable).with_name("krm-windows")
    assert {hook["id"] for hook in HOOKS} == GIVEN.keys()
    with listening(tmp_path / "pipe") as pipe:
        trap(place, pipe)
        for hook in HOOKS:
            _, *words = hook["entry"].split()
            command = [program, *words, *hook.get("args", []), *GIVEN[hook["id"]]]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
            assert pipe.said() == set()
            assert "usage:" not in done.stderr
            assert done.returncode == (hook["id"] == "krm-windows-check-repo"), done
