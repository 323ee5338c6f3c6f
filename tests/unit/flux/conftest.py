"""Trees written from texts by their paths, and what follows from them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flux_texts import HOME, Followed, Write

from krm_windows.flux import Given, Hints, Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(files: dict[str, str]) -> Checkout:
        for path, text in files.items():
            place = tmp_path / "tree" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("-> "):
                place.symlink_to(text[3:])
            else:
                place.write_text(text)
        return Checkout.at(tmp_path / "tree")

    return written


@pytest.fixture
def builder(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Builder:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent))
    found = Builder.find()
    assert found
    return found


@pytest.fixture
def follow(write: Write) -> Followed:
    def followed(files: dict[str, str], *sources: str, hints: Hints | None = None) -> Survey:
        tree = write(files)
        builder = Builder.find()
        given = tuple(map(Given.parse, sources or [HOME]))
        known = replace(hints or Hints(), given=given)
        return survey(tree, tree.directories("clusters/*"), Builds(tree, builder, 2), known)

    return followed
