"""The orchestrators, as fixtures."""

from collections.abc import Callable
from pathlib import Path

import pytest
from engines import Engine, Kpt, run

WAYS = (
    "kubectl-container",
    "kubectl-legacy",
    "kustomize-container",
    "kustomize-exec",
    "kustomize-legacy",
)


@pytest.fixture(scope="session")
def plugin_home(function: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("plugins")
    assert run(function, "install", "--plugin-home", home).returncode == 0
    return home


@pytest.fixture(scope="session")
def engine_of(
    request: pytest.FixtureRequest, tool: Callable[[str], Path], function: Path
) -> Callable[[str], Engine]:
    def make(name: str) -> Engine:
        program, way = name.split("-")
        found = tool(program)
        command = (found, "kustomize") if program == "kubectl" else (found, "build")
        if way == "container":
            path = request.getfixturevalue("docker_on_path")
            image = request.getfixturevalue("image")
            return Engine(command, f"container: {{image: {image}}}", {"PATH": path})
        if way == "exec":
            return Engine((*command, "--enable-exec"), f"exec: {{path: {function}}}")
        return Engine(
            command,
            environment={"KUSTOMIZE_PLUGIN_HOME": str(request.getfixturevalue("plugin_home"))},
        )

    return make


@pytest.fixture(params=WAYS)
def engine(request: pytest.FixtureRequest, engine_of: Callable[[str], Engine]) -> Engine:
    return engine_of(request.param)


@pytest.fixture
def legacy(engine_of: Callable[[str], Engine]) -> Engine:
    """The quickest way: kubectl with the legacy plugin."""
    return engine_of("kubectl-legacy")


@pytest.fixture(params=["container", "exec"])
def kpt(request: pytest.FixtureRequest, tool: Callable[[str], Path], function: Path) -> Kpt:
    program = tool("kpt")
    if request.param == "exec":
        return Kpt(program, f"exec: {function}", ("--exec", str(function)), ("--allow-exec",))
    image, never = request.getfixturevalue("image"), ("--image-pull-policy", "never")
    return Kpt(program, f"image: {image}", ("--image", image, *never), never)
