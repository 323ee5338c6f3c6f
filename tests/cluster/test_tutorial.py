"""The tutorial: every command of the page, in its order, in the cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from environment import Environment, forget, repository
from lab.api import Api
from lab.settings import GIT, GIT_PORT
from shown import commands, renewed, run
from tutorial import PAGE, runnable

NAMESPACE = "tutorial"
SETTINGS = {"user.name": "Ada", "user.email": "ada@example.com"}


@pytest.fixture
def reader(api: Api, kubectl: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    repository("tutorial", tmp_path / "unused")
    bare = GIT / "tutorial.git"
    # Anybody may push, as the reader may to their own.
    with (bare / "config").open("a") as config:
        config.write("[http]\n\treceivepack = true\n")
    kubectl.setenv("REPOSITORY", f"http://127.0.0.1:{GIT_PORT}/tutorial.git")
    kubectl.setenv("GIT_CONFIG_COUNT", str(len(SETTINGS)))
    for number, (key, value) in enumerate(SETTINGS.items()):
        kubectl.setenv(f"GIT_CONFIG_KEY_{number}", key)
        kubectl.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    (tmp_path / "reader").mkdir()
    yield tmp_path / "reader"
    forget(Environment(api, NAMESPACE, tmp_path))


@pytest.mark.long
def test_every_step_of_the_tutorial(reader: Path) -> None:
    """Each command does what the page says, and prints what it shows."""
    text = runnable(PAGE.read_text())
    assert "base64 -d > clusters/tutorial/windows.yaml" in text
    printed = run(text, reader)
    assert len(printed) == len(commands(text)), printed
    assert renewed(text, printed) == text
