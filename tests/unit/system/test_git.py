"""What a repository was is read as git has it.

Whatever its attributes, filters and hooks would make of it.
"""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git import changed, snapshot


@pytest.fixture
def repository(tmp_path: Path, tool: Callable[[str], Path]) -> Path:
    folder = tmp_path / "repository"
    (folder / "fleet/deep").mkdir(parents=True)
    (folder / "fleet/.gitattributes").write_text("* export-ignore filter=evil\n")
    (folder / "fleet/deep/ä b.yaml").write_bytes(b"one\r\ntwo")
    (folder / "fleet/link").symlink_to("deep")
    (folder / "beside.yaml").write_text("")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        [*who, "commit", "--quiet", "--message", "first"],
    ):
        subprocess.run([tool("git"), "-C", folder, *command], check=True)
    (folder / "fleet/deep/ä b.yaml").write_text("changed")
    return folder


def test_a_directory_is_as_it_was(repository: Path) -> None:
    with snapshot(repository / "fleet", "HEAD") as was:
        assert (was / "deep/ä b.yaml").read_bytes() == b"one\r\ntwo"
        assert (was / "link").readlink() == Path("deep")
        assert sorted(path.name for path in was.iterdir()) == [".gitattributes", "deep", "link"]
    assert not was.exists()


def test_a_directory_outside_of_git_is_said(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    with (
        pytest.raises(WorkspaceError, match="not a git repository"),
        snapshot(tmp_path / "elsewhere", "HEAD"),
    ):
        pass
    monkeypatch.setenv("PATH", "")
    with snapshot(repository, "HEAD") as was:
        assert (was / "beside.yaml").exists()
    monkeypatch.setitem(sys.modules, "pygit2", None)
    with pytest.raises(ImportError) as raised, snapshot(repository, "HEAD"):
        pass
    assert raised.value.name == "pygit2"


def test_what_two_commits_have_different(repository: Path, tool: Callable[[str], Path]) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    (repository / "fleet/link").unlink()
    (repository / "beside.yaml").rename(repository / "fleet/beside.yaml")
    for command in (["add", "--all"], [*who, "commit", "--quiet", "--message", "second"]):
        subprocess.run([tool("git"), "-C", repository, *command], check=True)
    names = {"beside.yaml", "fleet/beside.yaml", "fleet/link", "fleet/deep/ä b.yaml"}
    assert changed(repository / "fleet", "HEAD~1", "HEAD") == names
    assert changed(repository, "HEAD", "HEAD") == frozenset()
    with pytest.raises(WorkspaceError, match="is not a commit"):
        changed(repository, "HEAD", "--cached")
