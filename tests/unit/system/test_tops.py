"""Where a repository begins: one answer, whoever asks."""

import os
from pathlib import Path

import pytest

from krm_windows.cli import builds
from krm_windows.fleet.applied import is_applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.system import git_layout, tops
from krm_windows.system.errors import WorkspaceError

# What makes a directory a repository's top, by what `.git` is.
MARKS = ("directory", "file", "link to nothing")


@pytest.fixture(params=MARKS)
def inner(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    top = Path(os.path.realpath(tmp_path), "outer/inner")
    (top / "out").mkdir(parents=True)
    (top.parent / ".git").mkdir()
    (top.parent / "kustomization.yaml").write_text(
        "resources: [inner/policy.yaml, inner/other.yaml]\n"
    )
    mark = top / ".git"
    if request.param == "directory":
        mark.mkdir()
    elif request.param == "file":
        mark.write_text("gitdir: ../elsewhere\n")
    else:
        mark.symlink_to("../elsewhere")
    return top


def test_a_repository_inside_another_one_is_its_own(inner: Path) -> None:
    below = inner / "out"
    assert tops.top(below) == inner
    assert tops.top(inner) == inner
    assert tops.top(inner.parent) == inner.parent
    assert builds.repository(below) == inner
    assert ExistingOutput(below).repository == inner
    assert not is_applied(inner / "policy.yaml")


def test_git_takes_no_other_repository_for_it(inner: Path) -> None:
    """What cannot be read is said of the inner one, instead of to read the outer one."""
    if (inner / ".git").is_dir():
        assert git_layout.find(inner / "out").top == inner
        return
    with pytest.raises(WorkspaceError, match=r"inner/\.git"):
        git_layout.find(inner / "out")
