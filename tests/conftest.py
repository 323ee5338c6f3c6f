"""What tests share: the tools they prove the function with, found or named as lacking."""

import fcntl
import gc
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import effort
import pytest
from hypothesis import settings

gc.disable()  # until everything is collected
# How wide somebody wants what a program writes into a pipe: GNU Readline, which pytest loads, sets
# it behind the back of Python.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")
settings.load_profile(effort.QUICK)  # `--hypothesis-profile full` takes its place

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
REQUIRED = os.environ.get("KRM_WINDOWS_REQUIRE_TOOLS") == "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """A third of the time a test waits: for a deadline, a server, or a program that it started."""
    processors = len(os.sched_getaffinity(0))
    return processors + processors // 2


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what was collected out of garbage collection: thousands of tests stay to the end."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def pins() -> dict[str, dict[str, str]]:
    return tomllib.loads((ROOT / "versions.toml").read_text())


@pytest.fixture(scope="session")
def tool(pins: dict[str, dict[str, str]]) -> Callable[[str], Path]:
    """Find a tool, at its pinned version; skip without it, or fail where tools are required."""

    # Found once a session: to ask a tool for its version starts two programs.
    @cache
    def find(name: str) -> Path:
        # Last where Python programs are installed that tests start, such as pre-commit.
        places = (str(CACHE / "bin"), os.environ["PATH"], str(Path(sys.executable).parent))
        found = shutil.which(name, path=os.pathsep.join(places))
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
    return Path(sys.executable).with_name("krm-windows")


@pytest.fixture(scope="session")
def podman(tool: Callable[[str], Path], pins: dict[str, dict[str, str]]) -> Path:
    engine = tool("podman")
    if (
        subprocess.run([engine, "image", "exists", pins["image"]["base"]], check=False).returncode
        != 0
    ):
        lacking(f"the image {pins['image']['base']} is not here (.ci/setup makes it)")
    return engine


@pytest.fixture(scope="session")
def image(podman: Path, pins: dict[str, dict[str, str]]) -> str:
    """Built from the sources as they are: one worker builds, the others wait for it."""
    assert podman
    build_image()
    return pins["image"]["tag"]


@pytest.fixture(scope="session")
def server_image(podman: Path, pins: dict[str, dict[str, str]]) -> str:
    assert podman
    build_image("server")
    return pins["image"]["server_tag"]


def build_image(*target: str) -> None:
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["bash", ROOT / ".ci/image", *target], check=True, capture_output=True)


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
