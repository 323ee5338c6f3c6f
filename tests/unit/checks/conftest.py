"""What the tests of this room share."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def kustomize(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")


@pytest.fixture
def commit(tool: Callable[[str], Path]) -> Callable[[Path], None]:
    def committed(folder: Path) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        for words in (["init"], ["add", "."], ["commit", "--quiet", "--message=before"]):
            subprocess.run([tool("git"), "-C", folder, *who, *words], check=True)

    return committed
