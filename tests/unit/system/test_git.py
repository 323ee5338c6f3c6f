"""What a repository was is read as git has it, whatever its attributes, filters and hooks."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from past import Past

from krm_windows.system import git_progress
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git import changed, snapshot


@pytest.fixture
def past(tmp_path: Path, tool: Callable[[str], Path]) -> Past:
    past = Past(tool("git"), tmp_path / "repository")
    past.write({"fleet/deep/ä b.yaml": "one\r\ntwo", "beside.yaml": ""})
    past.write({"fleet/.gitattributes": "* export-ignore filter=evil\n"})
    (past.top / "fleet/link").symlink_to("deep")
    past.commit("2026-01-05T10:00Z", {})
    past.write({"fleet/deep/ä b.yaml": "changed"})
    return past


def test_a_directory_is_as_it_was(past: Past) -> None:
    with snapshot(past.top / "fleet", "HEAD") as was:
        assert (was / "deep/ä b.yaml").read_bytes() == b"one\r\ntwo"
        assert (was / "link").readlink() == Path("deep")
        assert sorted(path.name for path in was.iterdir()) == [".gitattributes", "deep", "link"]
    assert not was.exists()


def test_a_directory_outside_of_git_is_said(
    tmp_path: Path, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    with (
        pytest.raises(WorkspaceError, match="not a git repository"),
        snapshot(tmp_path / "elsewhere", "HEAD"),
    ):
        pass
    monkeypatch.setenv("PATH", "")
    with snapshot(past.top, "HEAD") as was:
        assert (was / "beside.yaml").exists()
    monkeypatch.setitem(sys.modules, "pygit2", None)
    with pytest.raises(ImportError) as raised, snapshot(past.top, "HEAD"):
        pass
    assert raised.value.name == "pygit2"


def test_what_two_commits_have_different(past: Past) -> None:
    (past.top / "beside.yaml").rename(past.top / "fleet/beside.yaml")
    past.commit("2026-01-06T10:00Z", {"fleet/link": None})
    names = {"beside.yaml", "fleet/beside.yaml", "fleet/link", "fleet/deep/ä b.yaml"}
    assert changed(past.top / "fleet", "HEAD~1", "HEAD") == names
    assert changed(past.top, "HEAD", "HEAD") == frozenset()
    with pytest.raises(WorkspaceError, match="is not a commit"):
        changed(past.top, "HEAD", "--cached")


def test_what_is_committed_is_known(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    (past.top.parent / "policy.yaml").touch()
    assert git_progress.is_committed(past.top.parent / "policy.yaml") is None
    past("init", "--quiet", str(past.top.parent / "new"))
    assert git_progress.is_committed(past.top.parent / "new/policy.yaml") is False
    monkeypatch.chdir(past.top)
    past.write({"policy.yaml": "a"})
    assert git_progress.is_committed(Path("policy.yaml")) is False
    past.commit("2026-01-06T10:00Z", {})
    assert git_progress.is_committed(Path("policy.yaml")) is True
    past.write({"policy.yaml": "c"})
    assert git_progress.is_committed(Path("policy.yaml")) is False


def test_what_pushes_is_known(past: Past) -> None:
    assert git_progress.push(past.top.parent) == ("", ["git push"])
    first = "git push -u origin main"
    assert git_progress.push(past.top) == ("no remote", ["git remote add origin URL", first])
    past("init", "--quiet", "--bare", "../remote")
    past("remote", "add", "origin", "../remote")
    assert git_progress.push(past.top) == ("main has no upstream of its name", [first])
    past(*first.split()[1:])
    assert git_progress.push(past.top) == ("", ["git push"])
    past.commit("2026-01-06T10:00Z", {})
    assert git_progress.push(past.top) == ("1 commit not pushed", ["git push"])
    past("update-ref", "refs/remotes/origin/main", past("commit-tree", "HEAD~^{tree}", "-m", "new"))
    words, steps = git_progress.push(past.top)
    assert words.endswith(" not pushed, 1 commit behind origin/main")
    assert steps == ["git pull --rebase", "git push"]
    past("switch", "--quiet", "--create", "fix;x", "origin/main")
    steps = ["git push -u origin 'fix;x'"]
    assert git_progress.push(past.top) == ("fix;x has no upstream of its name", steps)
    past("checkout", "--quiet", "--detach")
    steps = ["git switch -c NAME", "git push -u origin NAME"]
    assert git_progress.push(past.top) == ("on no branch", steps)
