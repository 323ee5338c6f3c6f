"""Who is named in a commit, and what is passed on of what Git says of a remote."""

from pathlib import Path

import pytest
from runners import git

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch, Edit, Person
from krm_windows.system.git_program import MovedError, RemoteError

ADA = Person("Ada Lovelace", "ada@example.com")


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Ada Lovelace <ada@example.com>", ADA),
        ("Ada Lovelace", None),
        ("<ada@example.com>", None),
        ("Ada <ada@example.com", None),
        ("Ada <ada example>", None),
        ("Ada <a<da@example.com>", None),
        ("Ada\nX <ada@example.com>", None),
        ("Ada <ada@example.com\N{RIGHT-TO-LEFT OVERRIDE}>", None),
        ("A" + " " * 100_000 + "B", None),
    ],
)
def test_a_person_is_a_name_and_an_address(text: str, person: Person | None) -> None:
    assert Person.read(text) == person


@pytest.mark.parametrize("address", ["", "https://host.example/", "git@host.example:"])
def test_no_password_is_passed_on(tmp_path: Path, address: str) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "One")
    git(tmp_path, "checkout", "--quiet", "--detach")
    branch = Branch(tmp_path, "main")
    tip = branch.tip()
    assert tip is not None
    # A way of transport that does not exist says the whole address.
    remote = f"none://ada:secret@host.example/{address}a"
    with pytest.raises(RemoteError) as raised:
        branch.git.push(remote, tip, branch.ref)
    assert "secret" not in str(raised.value)
    assert "host.example" in str(raised.value)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text("1")
    (top / "sub/b").write_text("2")
    git(top, "init", "--quiet", "--initial-branch=main")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "One")
    git(top, "clone", "--quiet", "--bare", ".", "../clone.git")
    return tmp_path / "clone.git"


def test_a_clone_of_its_own(clone: Path, tmp_path: Path) -> None:
    """A branch that is checked out is refused: its files would stay as they are."""
    with pytest.raises(WorkspaceError, match="git clone --bare"):
        Branch(tmp_path / "top", "main")
    with pytest.raises(WorkspaceError, match="branch 'none' not found"):
        Branch(clone, "none")
    with pytest.raises(WorkspaceError, match="no such directory"):
        Branch(tmp_path / "top/none", "main")
    branch = Branch(clone / "sub", None)
    assert (branch.name, branch.layout.top, branch.objects.prefix) == ("main", clone, "sub")


def test_what_a_commit_has(clone: Path) -> None:
    branch = Branch(clone, "main")
    tip = branch.tip()
    assert tip is not None
    assert [file.path for file in branch.files(tip, "sub")] == ["sub/b"]
    assert [branch.file(tip, path) for path in ("sub", "none")] == [None, None]
    assert branch.is_taken(tip, "a/below")
    assert branch.is_taken(tip, "sub/b")
    assert not branch.is_taken(tip, "sub/new")
    with pytest.raises(WorkspaceError, match="is a commit, not a blob"):
        branch.contents([tip], 10_000)


def test_a_commit_of_files(clone: Path) -> None:
    branch = Branch(clone, "main")
    tip = branch.tip()
    assert tip is not None
    edits = [Edit("a", None), Edit("sub/b", b"2", "100755"), Edit("new/c", b"3")]
    made = branch.commit(tip, edits, "Later\n", ADA, ADA)
    assert branch.file(made, "a") is None
    for path, mode in (("sub/b", "100755"), ("new/c", "100644")):
        file = branch.file(made, path)
        assert file is not None
        assert file.mode == mode
    assert branch.tip() == tip
    branch.move(made, tip)
    assert branch.tip() == made
    with pytest.raises(MovedError, match="has moved in the meantime"):
        branch.move(made, tip)
    assert [each.subject for each in branch.log(made, 9)] == ["Later", "One"]
    assert [each.subject for each in branch.log(made, 9, "new/c")] == ["Later"]
    assert branch.is_ancestor(tip, made)
    assert not branch.is_ancestor(made, tip)
    assert not branch.is_ancestor("1" * 40, tip)
    with pytest.raises(WorkspaceError, match="the commit cannot be made"):
        branch.commit(made, [Edit("a", None)], "Gone already", ADA, ADA)
