"""What `make` says and installs for somebody who has just cloned the repository."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCREEN = 24  # lines


@pytest.fixture
def clone(tmp_path: Path, tool: Callable[[str], Path]) -> Path:
    command = [tool("git"), "clone", "--quiet", "--shared", ROOT, tmp_path / "clone"]
    subprocess.run(command, check=True)
    for name in ("Makefile", ".ci/demo.py"):
        (tmp_path / "clone" / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path / "clone"


def make(folder: Path, *arguments: str) -> str:
    command = ["make", f"PYTHON={sys.executable}", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=outside_make(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    return done.stdout


def outside_make() -> dict[str, str]:
    given = re.findall(r"(?:^|\s)(\w+)=", os.environ.get("MAKEFLAGS", ""))
    return {
        name: text
        for name, text in os.environ.items()
        if not name.startswith("MAKE") and name not in given
    }


@pytest.mark.slow  # sets up an environment
def test_the_demonstration_is_one_screen(clone: Path) -> None:
    shown = make(clone, "demo").replace("setting up .cache/demo\n", "")
    assert shown.startswith("$ krm-windows calendar examples/no-deploy-friday/")
    assert len(shown.splitlines()) <= SCREEN
    assert "CronJob" in shown
    assert "kind:" not in shown
    assert "> .cache/demo.yaml\n" in shown
    assert "kind: CronJob" in (clone / ".cache/demo.yaml").read_text()
    assert not (clone / ".venv").exists()
    [site] = (clone / ".cache/demo/lib").glob("python3*/site-packages")
    installed = {found.metadata["Name"].lower() for found in distributions(path=[str(site)])}
    assert {"krm-windows", "pyyaml", "rich", "tzdata"} <= installed
    assert installed & {"pytest", "ruff", "mypy", "hypothesis"} == set()
    # A second time nothing is set up.
    assert make(clone, "demo") == shown
