"""A working tree that follows its branch: what differs, and nothing that a person has changed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from krm_windows.system import git_forward
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch
from krm_windows.system.git_forward import Forward, Move
from krm_windows.system.git_program import MovedError, RemoteError

Git = Callable[..., str]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The working tree."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.fixture
def git(tree: Path, tool: Callable[[str], Path]) -> Git:
    """Git in the working tree, with two commits: `main` is at the older one, `newer` is the other.

    The newer one changes `a`, adds `sub/b`, which can be run, and the link `c`, and removes
    `old/d`.
    """
    program = tool("git")

    def run(*arguments: str) -> str:
        command = [str(program), "-C", str(tree), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    run("init", "--quiet", "--initial-branch=main")
    run("config", "user.name", "Ada")
    run("config", "user.email", "ada@example.com")
    (tree / "a").write_text("1")
    (tree / "old").mkdir()
    (tree / "old/d").write_text("d")
    run("add", ".")
    run("commit", "--quiet", "--message=older")
    run("checkout", "--quiet", "-b", "newer")
    (tree / "a").write_text("2")
    (tree / "sub").mkdir()
    (tree / "sub/b").write_text("b")
    (tree / "sub/b").chmod(0o755)
    (tree / "c").symlink_to("a")
    (tree / "old/d").unlink()
    run("add", "--all")
    run("commit", "--quiet", "--message=newer")
    run("checkout", "--quiet", "main")
    return run


def moved(tree: Path, git: Git) -> Forward:
    """Move `main` to the newer commit."""
    forward = Forward(Branch(tree, "main"))
    old, new = git("rev-parse", "main"), git("rev-parse", "newer")
    forward.begin(old, new)
    forward.move(old, new)
    return forward


def test_the_tree_and_its_index_follow(tree: Path, git: Git) -> None:
    """Changed, new, executable, linked and removed files alike; then nothing is left to do."""
    forward = moved(tree, git)
    assert git("status", "--porcelain") == ""
    assert (tree / "a").read_text() == "2"
    assert (tree / "sub/b").stat().st_mode & 0o111
    assert (tree / "c").readlink() == Path("a")
    assert not (tree / "old").exists()
    assert forward.pending() is None
    assert forward.finish()


def test_it_goes_back_likewise(tree: Path, git: Git) -> None:
    """A directory that is empty then goes too."""
    git("checkout", "--quiet", "newer")
    forward = Forward(Branch(tree, None))
    old, new = git("rev-parse", "newer"), git("rev-parse", "main")
    forward.begin(old, new)
    forward.move(old, new)
    assert git("status", "--porcelain") == ""
    assert not (tree / "sub").exists()
    assert (tree / "old/d").read_text() == "d"


def test_what_a_person_changed_stays(tree: Path, git: Git) -> None:
    """A file, a link or a directory where the commit has something else."""
    (tree / "a").write_text("mine")
    (tree / "c").mkdir()
    (tree / "sub").symlink_to("old")
    moved(tree, git)
    assert (tree / "a").read_text() == "mine"
    assert (tree / "c").is_dir()
    assert (tree / "sub").is_symlink()
    assert not (tree / "old/b").exists()


@pytest.mark.parametrize(
    "folder", [".git", ".GIT", "sub/.git", "git~1", ".git ", ".git::$INDEX_ALLOCATION", ".git\\x"]
)
@pytest.mark.parametrize("exists", [False, True], ids=["new", "there"])
def test_nothing_is_written_into_a_directory_of_gits_own(
    folder: str, *, exists: bool, tree: Path, git: Git
) -> None:
    """Git checks paths where it checks out, and not where it fetches; a hook would be started."""
    parent, blob = git("rev-parse", "main"), git("rev-parse", "newer:sub/b")
    plain = git("rev-parse", "newer:a")

    def made(name: str, mode: str, entry: str) -> str:
        raw = f"{mode} {name}\0".encode() + bytes.fromhex(entry)
        raw += f"100644 z{len(name)}\0".encode() + bytes.fromhex(plain)
        (tree.parent / "raw").write_bytes(raw)
        words = ("hash-object", "-w", "-t", "tree", "--literally", str(tree.parent / "raw"))
        return git(*words)

    top = made("post-checkout", "100755", blob)
    for name in ("hooks", *reversed(folder.split("/"))):
        top = made(name, "40000", top)
    new = git("commit-tree", top, "-p", parent, "-m", "evil")
    if exists:
        (tree / folder).mkdir(parents=True, exist_ok=True)
    before = {path for path in tree.rglob("*") if "hooks" in path.parts}
    forward = Forward(Branch(tree, "main"))
    forward.begin(parent, new)
    forward.move(parent, new)
    assert {path for path in tree.rglob("*") if "hooks" in path.parts} == before
    assert git("rev-parse", "main") == new
    # What is beside it, and the index, follow all the same.
    assert next(tree.glob("z*")).read_text() == "2"
    assert forward.pending() is None


def test_a_directory_becomes_a_file_and_a_file_a_directory(tree: Path, git: Git) -> None:
    """There and back; but not over what a person has put into the directory."""
    git("checkout", "--quiet", "-b", "other")
    (tree / "old/d").unlink()
    (tree / "old").rmdir()
    (tree / "old").write_text("a file")
    (tree / "a").unlink()
    (tree / "a").mkdir()
    (tree / "a/b").write_text("b")
    git("add", "--all")
    git("commit", "--quiet", "--message=other")
    git("checkout", "--quiet", "main")
    forward = Forward(Branch(tree, "main"))
    old, new = git("rev-parse", "main"), git("rev-parse", "other")
    for before, after in ((old, new), (new, old)):
        forward.begin(before, after)
        forward.move(before, after)
        assert git("status", "--porcelain") == ""
        assert (tree / "old").is_file() == (after == new)
    (tree / "old/mine").write_text("mine")
    forward.begin(old, new)
    forward.move(old, new)
    assert (tree / "old/mine").read_text() == "mine"
    assert forward.pending() is None


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_a_persons(kind: str, tree: Path, git: Git) -> None:
    """Also where the commit has an empty file, whose content nothing else differs from."""
    git("checkout", "--quiet", "newer")
    (tree / "empty").touch()
    git("add", "empty")
    git("commit", "--quiet", "--message=empty")
    git("checkout", "--quiet", "main")
    if kind == "pipe":
        os.mkfifo(tree / "empty")
    else:
        (tree / "empty").mkdir()
        (tree / "empty/mine").write_text("mine")
    forward = moved(tree, git)
    assert not (tree / "empty").is_file()
    assert (tree / "a").read_text() == "2"
    assert forward.pending() is None


def test_what_a_person_has_changed_is_listed(tree: Path, git: Git) -> None:
    """In the tree, staged, or not known to Git; of another branch nothing."""
    forward = Forward(Branch(tree, "main"))
    (tree / "a").write_text("mine")
    (tree / "new").write_text("mine")
    assert sorted(forward.touched(["a", "new", "old/d"])) == ["a", "new"]
    assert Forward(Branch(tree, "newer")).touched(["a"]) == []
    git("checkout", "--quiet", "--detach")
    assert forward.touched(["a"]) == []


def test_a_tree_of_another_branch_is_left_alone(tree: Path, git: Git) -> None:
    """The branch moves all the same."""
    new = git("rev-parse", "newer")
    git("checkout", "--quiet", "-b", "work")
    moved(tree, git)
    assert git("rev-parse", "main") == new
    assert (tree / "a").read_text() == "1"
    assert git("status", "--porcelain") == ""


def test_a_tree_without_an_index_gets_one(tree: Path, git: Git) -> None:
    """Not one in which every other file is missing."""
    (tree / ".git/index").unlink()
    moved(tree, git)
    assert git("status", "--porcelain") == ""


def test_an_index_that_cannot_be_made_is_not_put_in_place(tree: Path, git: Git) -> None:
    """Git may be ended while it makes one; with half of it, other files would count as removed."""
    broken = tree.parent / "git"
    branch = Branch(tree, "main")
    program = branch.git.program
    broken.write_text(
        f'#!/bin/sh\ncase " $* " in *" read-tree "*) exit 128;; esac\nexec {program} "$@"\n'
    )
    broken.chmod(0o755)
    (tree / ".git/index").unlink()
    branch.git = replace(branch.git, program=str(broken))
    forward = Forward(branch)
    old, new = git("rev-parse", "main"), git("rev-parse", "newer")
    forward.begin(old, new)
    forward.move(old, new)
    assert not (tree / ".git/index").exists()
    assert forward.pending() == Move("main", old, new)
    assert Forward(Branch(tree, "main")).finish()
    assert git("status", "--porcelain") == ""


def test_a_lock_that_comes_and_goes_is_waited_for(tree: Path, git: Git) -> None:
    """Git may let go of it between any two looks."""
    new = git("rev-parse", "newer")
    lock = str(tree / ".git/index.lock")
    text = f"import os\nprint('on', flush=True)\nlock = {lock!r}\nwhile True:\n"
    text += "  try: os.close(os.open(lock, os.O_CREAT | os.O_EXCL)); os.unlink(lock)\n"
    text += "  except FileExistsError: pass\n"
    forward = Forward(Branch(tree, "main"))
    forward.begin(git("rev-parse", "main"), new)
    git("update-ref", "refs/heads/main", new)
    with subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            ends = time.monotonic() + 2
            while time.monotonic() < ends:
                with forward._index():
                    pass
        finally:
            other.kill()
    Path(lock).unlink(missing_ok=True)
    assert forward.finish()


def test_a_tree_that_git_is_changing_waits(
    tree: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the lock of the index is gone; a lock of ours that a crash left is no hindrance."""
    monkeypatch.setattr(git_forward, "_PATIENCE", 0.05)
    lock = tree / ".git/index.lock"
    lock.touch()
    forward = moved(tree, git)
    assert (tree / "a").read_text() == "1"
    assert not forward.finish()
    lock.unlink()
    lock.hardlink_to(forward.folder / "hold")
    assert forward.finish()
    assert git("status", "--porcelain") == ""
    assert not lock.exists()


def test_a_move_that_never_happened_is_forgotten(tree: Path, git: Git) -> None:
    """The branch is where it was; one that is elsewhere does not move."""
    forward = Forward(Branch(tree, "main"))
    old, new = git("rev-parse", "main"), git("rev-parse", "newer")
    forward.begin(old, new)
    assert forward.pending() == Move("main", old, new)
    assert forward.finish()
    assert forward.pending() is None
    assert (tree / "a").read_text() == "1"
    with pytest.raises(MovedError, match="main has moved in the meantime"):
        forward.move(new, old)


def test_a_journal_of_somebody_else_is_not_believed(tree: Path, git: Git) -> None:
    """Whoever reads the message knows which file it is."""
    forward = Forward(Branch(tree, "main"))
    git("status")
    forward.folder.mkdir()
    (forward.folder / "journal.json").write_text("{}")
    with pytest.raises(WorkspaceError, match=r"journal\.json cannot be read: remove it"):
        forward.finish()


def test_which_branch_is_opened(tree: Path, git: Git) -> None:
    """The one that is checked out; without one, it has to be named, and to have a commit."""
    assert Branch(tree, None).name == "main"
    git("checkout", "--quiet", "--detach")
    with pytest.raises(WorkspaceError, match="HEAD is detached: name a branch"):
        Branch(tree, None)
    with pytest.raises(WorkspaceError, match="branch 'none' not found, or it has no commit"):
        Branch(tree, "none")


def test_what_a_commit_has(tree: Path, git: Git) -> None:
    """Plain files by their paths, and what is in the way of a new one."""
    branch = Branch(tree, "newer")
    tip = git("rev-parse", "newer")
    assert {file.path for file in branch.files(tip, "sub")} == {"sub/b"}
    assert [branch.file(tip, path) for path in ("sub", "none")] == [None, None]
    assert branch.file(tip, "c") is None
    assert branch.is_taken(tip, "a/below")
    assert branch.is_taken(tip, "sub/b")
    assert not branch.is_taken(tip, "sub/new")
    assert branch.contents([], 100) == {}
    with pytest.raises(WorkspaceError, match="is a commit, not a blob"):
        branch.contents([tip], 10_000)


def test_who_the_user_of_a_repository_is(
    tree: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody, where Git itself would ask who it is."""
    branch = Branch(tree, "main")
    person = branch.person()
    assert person is not None
    assert person.name == "Ada"
    git("config", "--unset", "user.name")
    monkeypatch.setenv("HOME", str(tree))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tree))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    assert branch.person() is None


def test_a_remote_that_is_not_there(tree: Path, git: Git) -> None:
    """Neither taken from nor given to."""
    branch = Branch(tree, "main")
    tip = git("rev-parse", "main")
    with pytest.raises(RemoteError, match="refs/heads/main cannot be fetched from none"):
        branch.fetch("none")
    with pytest.raises(RemoteError, match="the remote none rejected the change"):
        branch.git.push("none", tip, branch.ref)
