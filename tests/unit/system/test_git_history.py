"""The history of a branch is read as git has it, whatever the repository would have done."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from past import Past

from krm_windows.system import git_history
from krm_windows.system.errors import WorkspaceError


@pytest.fixture
def past(tmp_path: Path, tool: Callable[[str], Path]) -> Past:
    return Past(tool("git"), tmp_path / "repository")


def test_commits_of_first_parents(past: Past) -> None:
    first = past.commit("2026-01-05T10:00Z", {"a": "1"}, "Begin | \t|")
    past("checkout", "--quiet", "-b", "side")
    past.commit("2026-01-06T10:00Z", {"side": "1"})
    past("checkout", "--quiet", "main")
    past.commit("2026-01-07T10:00Z", {"a": "2"}, "Ändern", who="Bo")
    past("merge", "--quiet", "--no-ff", "side", "-m", "Merge it", at="2026-01-08T10:00Z")
    with git_history.opened(past.top) as history:
        found = [(each.subject, each.committed, each.author) for each in history.commits]
        assert found == [
            ("Merge it", 1767866400, "Ada <ada@example.com>"),
            ("Ändern", 1767780000, "Bo <bo@example.com>"),
            ("Begin | \t|", 1767607200, "Ada <ada@example.com>"),
        ]
        assert history.commits[-1].name == first
        assert history.commits[-1].parent is None
        assert not history.is_cut
        paths = [[*changed] for _, changed in history.changed(history.commits)]
        assert paths == [["side"], ["a"], ["a"]]


def test_what_a_commit_changed(past: Past) -> None:
    past.commit("2026-01-05T10:00Z", {"below/old ä\n.yaml": "1", "beside": "1"})
    past("mv", "below/old ä\n.yaml", "below/new")
    (past.top / "below/link").symlink_to("new")
    past.commit("2026-01-06T10:00Z", {})
    past.commit("2026-01-07T10:00Z", {})
    with git_history.opened(past.top / "below") as history:
        changed = dict(history.changed(history.commits))
        [empty, renamed, made] = [changed[commit] for commit in history.commits]
        blob = past("rev-parse", "HEAD:beside")
        assert empty == ()
        assert set(renamed) == {"link", "new", "old ä\n.yaml"}
        assert made == ("old ä\n.yaml",)
        assert history.contents([blob, "0" * 40]) == {blob: b"1"}


@pytest.mark.parametrize("sign", ["\n", "\r", "\u2028", "\udcff"])
def test_a_path_with_any_sign_is_one_path(sign: str, past: Past) -> None:
    commit = past.commit("2026-01-05T10:00Z", {"a": "1"})
    blob = past("rev-parse", "HEAD:a")
    with git_history.opened(past.top) as history:
        places = [(commit, f"none{sign}none"), (commit, "a"), (commit, f"{sign}a"), (commit, "a")]
        assert history.blobs(places) == [None, blob, None, blob]


def test_a_path_is_followed(past: Past) -> None:
    text = "a\nb\nc\nd\ne\nf\n"
    past.commit("2026-01-05T10:00Z", {"one.yaml": text})
    past("mv", "one.yaml", "two.yaml")
    moved = past.commit("2026-01-06T10:00Z", {"two.yaml": f"{text}g\n"})
    past.commit("2026-01-07T10:00Z", {"other": "1"})
    past.commit("2026-01-08T10:00Z", {"two.yaml": None})
    with git_history.opened(past.top) as history:
        gone, beside, renamed, made = history.commits
        assert history.touching("two.yaml", gone.name) == [gone.name, moved]
        assert history.source("two.yaml", renamed) == "one.yaml"
        assert history.source("two.yaml", gone) is None
        assert history.source("two.yaml", beside) is None
        assert history.source("one.yaml", made) is None
        assert history.touching("two.yaml' -- *", gone.name) == []
        blobs = history.blobs([(renamed.name, "two.yaml"), (gone.name, "two.yaml")])
        assert blobs == [past("rev-parse", f"{moved}:two.yaml"), None]


def test_a_shallow_clone_says_so(past: Past, tmp_path: Path) -> None:
    first, _, last = (past.commit(f"2026-01-0{day}T10:00Z", {"a": f"{day}"}) for day in (5, 6, 7))
    past("clone", "--quiet", "--depth=2", past.top.as_uri(), str(tmp_path / "clone"))
    with git_history.opened(tmp_path / "clone") as history:
        assert len(history.commits) == 2
        assert history.is_cut
        assert next(history.changed(history.commits))[1] == ("a",)
        assert [each.name for each in history.between("HEAD^", "HEAD")] == [last]
        with pytest.raises(WorkspaceError, match="was it fetched"):
            history.between(first, "HEAD")


@pytest.mark.parametrize("ref", ["", "--all", "no-branch", "HEAD\nHEAD", "HEAD:a"])
def test_what_is_no_commit(past: Past, ref: str) -> None:
    past.commit("2026-01-05T10:00Z", {"a": "1"})
    with pytest.raises(WorkspaceError, match="is not a commit"), git_history.opened(past.top, ref):
        pass


def test_a_time_that_is_none(past: Past) -> None:
    past.commit("2026-01-05T10:00Z", {"a": "1"})
    tree = past("rev-parse", "HEAD^{tree}")
    for number, time in enumerate(("253402300800", "-5", "99999999999999999999", "x")):
        raw = past.top / f"{number}.commit"
        who = f"a <a@example.com> {time} +0000"
        raw.write_text(f"tree {tree}\nauthor {who}\ncommitter {who}\n\nm\n")
        name = past("hash-object", "-t", "commit", "--literally", "-w", str(raw))
        child = past("commit-tree", tree, "-p", name, "-m", "x")
        past("update-ref", "refs/heads/odd", child)
        is_number = time.lstrip("-").isdigit() and len(time) < 20
        damaged = pytest.raises(WorkspaceError, match="is damaged: git fsck")
        with (
            nullcontext() if is_number else damaged,
            git_history.opened(past.top, "odd") as history,
        ):
            assert history.commits[1].committed >= 0


def test_the_commits_between_two(past: Past) -> None:
    first = past.commit("2026-01-05T10:00Z", {"a": "1"})
    past("checkout", "--quiet", "-b", "side")
    side = past.commit("2026-01-06T10:00Z", {"side": "1"}, "Work aside")
    past("checkout", "--quiet", "main")
    second = past.commit("2026-01-07T10:00Z", {"a": "2"})
    past("merge", "--quiet", "--no-ff", "side", "-m", "Merge it", at="2026-01-08T10:00Z")
    past("commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", "")
    last = past("rev-parse", "HEAD")
    with git_history.opened(past.top) as history:
        found = history.between(first, "main")
        assert {each.name for each in found} == {last, second, side}
        paths = {commit.name: changed for commit, changed in history.changed(found)}
        assert paths[side] == ("side",)
        assert [each.subject for each in found if each.name == last] == [""]
        assert history.between("main", first) == history.between("main", "main") == []
        for old, new in (("nothing", "main"), ("main", "--all"), ("", "main")):
            with pytest.raises(WorkspaceError, match="is not a commit"):
                history.between(old, new)


def test_the_commits_between_two_whatever_their_times(past: Past) -> None:
    first = past.commit("2026-01-05T10:00Z", {"a": "first"})
    later = [
        past.commit(f"2020-01-05T10:{minute}Z", {"a": f"{minute}"}) for minute in range(10, 26)
    ]
    with git_history.opened(past.top) as history:
        assert [each.name for each in history.between(first, "main")] == later[::-1]
        assert history.between("main", first) == []
