"""Walks through directories: what a glob finds, without following links, and with an end."""

import glob
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_windows.system import walk
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.reading import manifests

NAMES = ("a", "b", "ab", ".a", "a]", "a-b")
STEPS = ("*", "a*", "*b", "[a-b]", "[]a]*", "[.]a", "*[]]", "[b-a]", "a[-]b")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for first in NAMES:
        for second in NAMES:
            (root / first / second / first).mkdir(parents=True)
            (root / first / f"{second}.yaml").write_text("")
    return root


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
def test_a_glob_finds_what_python_finds(tree: Path, steps: list[str]) -> None:
    pattern = "/".join(steps)
    theirs = {
        os.path.normpath(path)
        # The very function that the walk took the place of.
        for path in glob.glob(f"{pattern}/", root_dir=tree, recursive=True)  # noqa: PTH207
    }
    assert sorted(walk.directories(str(tree), pattern)) == sorted(theirs)


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    for number in range(4):
        (tmp_path / f"clusters/c{number}").mkdir(parents=True)
        (tmp_path / f"clusters/c{number}/a.yaml").write_text("")
    for number in range(4):
        for other in range(4):
            (tmp_path / f"clusters/c{number}/to{other}").symlink_to(f"../c{other}")
    (tmp_path / "clusters/up").symlink_to("..")
    return tmp_path


@pytest.mark.parametrize("pattern", ["clusters/*", "*/*", "clusters/*/*", "clusters/c?/*"])
def test_links_are_not_followed(linked: Path, pattern: str) -> None:
    found = list(walk.directories(str(linked), pattern))
    assert len(found) == len(set(found)) <= 6
    assert not any("to" in path or "up" in path for path in found)
    assert len(list(manifests(linked))) == 4


def test_a_walk_has_an_end(tree: Path) -> None:
    for call in (
        lambda: list(walk.walk(tree, most=50)),
        lambda: list(walk.directories(str(tree), "*/*", most=50)),
        lambda: list(walk.directories(str(tree), "**/a")),
    ):
        with pytest.raises(WorkspaceError):
            call()
