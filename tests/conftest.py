"""What tests share: the tools they prove the function with, found or named as lacking."""

import fcntl
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says nothing on a busy machine; `make bench` measures.
settings.register_profile("krm-windows", deadline=None)
settings.load_profile("krm-windows")

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
REQUIRED = os.environ.get("KRM_WINDOWS_REQUIRE_TOOLS") == "1"


@pytest.fixture(scope="session")
def pins() -> dict[str, dict[str, str]]:
    """versions.toml."""
    return tomllib.loads((ROOT / "versions.toml").read_text())


@pytest.fixture(scope="session")
def tool(pins: dict[str, dict[str, str]]) -> Callable[[str], Path]:
    """Find a tool by name, at its pinned version where it has one; skip, or fail where tools are required."""

    def find(name: str) -> Path:
        found = shutil.which(name, path=f"{CACHE / 'bin'}{os.pathsep}{os.environ['PATH']}")
        if found is None:
            lacking(f"{name} is not installed (.ci/setup installs it)")
        if name in pins["tools"]:
            check = [sys.executable, ROOT / ".ci/tool_version.py", name, pins["tools"][name]]
            answer = subprocess.run(
                check,
                env={**os.environ, "PATH": str(Path(found).parent)},
                capture_output=True,
                text=True,
                check=False,
            )
            if answer.returncode != 0:
                lacking(answer.stdout.strip())
        return Path(found)

    return find


@pytest.fixture(scope="session")
def function() -> Path:
    """The console script of the environment that runs the tests."""
    return Path(sys.executable).with_name("krm-windows")


@pytest.fixture(scope="session")
def podman(tool: Callable[[str], Path], pins: dict[str, dict[str, str]]) -> Path:
    """A container engine that has the base image."""
    engine = tool("podman")
    if (
        subprocess.run([engine, "image", "exists", pins["image"]["base"]], check=False).returncode
        != 0
    ):
        lacking(f"the image {pins['image']['base']} is not here (.ci/setup makes it)")
    return engine


@pytest.fixture(scope="session")
def image(podman: Path, pins: dict[str, dict[str, str]]) -> str:
    """The function's image, built from the sources as they are; one worker builds, the others wait for it."""
    assert podman
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["bash", ROOT / ".ci/image"], check=True, capture_output=True)
    return pins["image"]["tag"]


@pytest.fixture(scope="session")
def docker_on_path(podman: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `docker` is podman: kustomize calls `docker`, whatever there is."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "docker").symlink_to(podman)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def lacking(what: str) -> None:
    """Skip the test that asks, saying what it lacks; fail it where every tool is required."""
    if REQUIRED:
        pytest.fail(what, pytrace=False)
    pytest.skip(what)
