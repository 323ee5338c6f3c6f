"""Who is named in a commit, and what is passed on of what Git says of a remote."""

import subprocess
from pathlib import Path

import pytest

from krm_windows.system.git_branch import Branch, Person
from krm_windows.system.git_program import RemoteError

ADA = Person("Ada Lovelace", "ada@example.com")


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("Ada Lovelace <ada@example.com>", ADA),
        ("  Ada Lovelace<ada@example.com> ", ADA),
        ("Ada Lovelace", None),
        ("<ada@example.com>", None),
        ("Ada <>", None),
        ("Ada <ada@example.com", None),
        ("Ada <ada@example.com> or so", None),
        ("Ada <ada example>", None),
        ("Ada > <ada@example.com>", None),
        ("Ada <a<da@example.com>", None),
        ("Ada\nX <ada@example.com>", None),
        ("Ada <ada@example.com\N{RIGHT-TO-LEFT OVERRIDE}>", None),
        ("A" + " " * 100_000 + "B", None),
    ],
)
def test_a_person_is_a_name_and_an_address(text: str, person: Person | None) -> None:
    """Nothing that would end either of the two in a commit, and nothing that is not seen."""
    assert Person.read(text) == person


@pytest.mark.parametrize("address", ["", "https://host.example/", "git@host.example:"])
def test_no_password_is_passed_on(tmp_path: Path, address: str) -> None:
    """Whatever a remote's address has before its host, where it is out of reach."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "--quiet", "--initial-branch=main"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "One"], check=True)
    branch = Branch(tmp_path, "main")
    tip = branch.tip()
    assert tip is not None
    # A way of transport that does not exist says the whole address.
    remote = f"none://ada:secret@host.example/{address}a"
    with pytest.raises(RemoteError) as raised:
        branch.git.push(remote, tip, branch.ref)
    assert "secret" not in str(raised.value)
    assert "host.example" in str(raised.value)
