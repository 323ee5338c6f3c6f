"""Where a repository begins: one answer, whoever asks."""

import os
from pathlib import Path

import pytest

from krm_windows.cli import builds
from krm_windows.fleet.applied import is_applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.system import git_layout, tops
from krm_windows.system.errors import WorkspaceError


@pytest.mark.parametrize("mark", ["directory", "file", "link to nothing"])
def test_a_repository_inside_another_one_is_its_own(mark: str, tmp_path: Path) -> None:
    """Also where its `.git` leads nowhere, as in a container that has a part of a machine."""
    top = Path(os.path.realpath(tmp_path), "outer/inner")
    below = top / "out"
    below.mkdir(parents=True)
    (top.parent / ".git").mkdir()
    (top.parent / "kustomization.yaml").write_text("resources: [inner/policy.yaml]\n")
    match mark:
        case "directory":
            (top / ".git").mkdir()
        case "file":
            (top / ".git").write_text("gitdir: ../elsewhere\n")
        case _:
            (top / ".git").symlink_to("../elsewhere")
    assert tops.top(below) == tops.top(top) == top
    assert tops.top(top.parent) == top.parent
    assert builds.repository(below) == top
    assert ExistingOutput(below).repository == top
    assert not is_applied(top / "policy.yaml")
    if mark == "directory":
        assert git_layout.find(below).top == top
    else:
        with pytest.raises(WorkspaceError, match=r"inner/\.git"):
            git_layout.find(below)
