"""A forge that is no model of one: Gitea itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

import gitea as real
import pytest

STATIC = Path(__file__).resolve().parents[2] / ".cache/gitea"


@pytest.fixture(scope="session")
def gitea(
    tool: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[real.Gitea]:
    program = tool("gitea")
    with real.running(program, STATIC, tmp_path_factory.mktemp("gitea")) as found:
        for name in ("ada", "eve"):
            found.user(name)
        yield found


@pytest.fixture
def repository(gitea: real.Gitea) -> real.Repository:
    found = gitea.repository()
    for name in ("ada", "eve"):
        found.call("PUT", f"collaborators/{name}", {"permission": "write"})
    return found
