"""A service that is killed at every step of a change: afterwards it happened, or it did not."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Git = Callable[..., str]
# Every program that is started, and every call that changes a file, is a step; before one of
# them the process ends, as if it had been killed.
KILLED = """\
import os
import sys
from pathlib import Path

left = int(sys.argv[2])


def stepping(function):
    def step(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*arguments, **options)

    return step


from krm_windows.edit.patches import patched
from krm_windows.service.access import EVERYTHING, Caller
from krm_windows.service.settings import Settings
from krm_windows.service.windows import Windows
from krm_windows.service.writing import Order, Place, Writer
from krm_windows.system import programs
from krm_windows.system.git_branch import Person

windows = Windows(Settings(Path(sys.argv[1]), remote=sys.argv[3] or None))
programs.run = stepping(programs.run)
for name in ("rename", "link", "unlink", "fsync", "mkdir", "rmdir", "replace"):
    setattr(os, name, stepping(getattr(os, name)))
patch = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
order = Order(Caller("ada", Person("Ada", "ada@example.com"), EVERYTHING), "later")
Writer(windows).change(Place("flux-system", "week"), lambda old: patched(old, patch), order)
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("pushes", [False, True])
def test_killed_at_every_step(
    *,
    pushes: bool,
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
    tmp_path: Path,
) -> None:
    """Whoever starts next has a clean tree at one commit, at the remote too, and can go on."""
    place = tmp_path / "remote.git"
    name = ""
    if pushes:
        git("clone", "--quiet", "--bare", str(repository), str(place))
        git("remote", "add", "origin", str(place))
        name = "origin"
    before = git("rev-parse", "main").strip()
    ends: set[bool] = set()
    for step in range(200):
        command = [sys.executable, "-c", KILLED, str(repository), str(step), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # What Git had begun when the service was killed comes to its end.
        client = serve(remote=name or None)
        happened = git("rev-parse", "main").strip() != before
        ends.add(happened)
        assert git("status", "--porcelain") == "", (step, done.stderr)
        text = (repository / "clusters/week.yaml").read_text()
        assert ("Fri 12:00" in text) is happened, step
        assert not list(repository.glob(".git/**/*.lock")), step
        assert client.windows.forward.pending() is None
        # Nothing that was half written stays beside the journal, either.
        left = {path.name for path in client.windows.forward.folder.iterdir()}
        assert left <= {"hold"}, (step, left)
        if pushes:
            assert git("ls-remote", "origin", "main").split()[0] == git("rev-parse", "main").strip()
        git("reset", "--quiet", "--hard", before)
        if pushes:
            git("push", "--quiet", "--force", "origin", "main")
        if done.returncode == 0:
            break
        assert done.returncode == 9, done.stderr
    else:
        pytest.fail("it never came to its end")
    assert ends == {True, False}
    # More than the few steps that one would think of.
    assert step > 10


def test_a_journal_of_a_move_that_was_not_made_is_forgotten(
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
) -> None:
    """The commit that it names may not even be there any more."""
    folder = repository / ".git/krm-windows"
    folder.mkdir()
    tip = git("rev-parse", "main").strip()
    journal = {"branch": "main", "old": tip, "new": "0123456789" * 4}
    (folder / "journal.json").write_text(json.dumps(journal))
    assert serve().ask("GET", "/policies/flux-system/week").status == 200
    assert not (folder / "journal.json").exists()


def test_a_person_who_has_the_index_is_waited_for(
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The change is in force at once; the tree comes forward when the lock is gone."""
    monkeypatch.setattr("krm_windows.system.git_forward._PATIENCE", 0.1)
    client = serve()
    lock = repository / ".git/index.lock"
    lock.touch()
    body = {"state": "open", "for": "2h", "reason": "fix"}
    assert client.ask("POST", "/policies/flux-system/week/overrides", body).status == 201
    assert lock.exists()
    assert client.windows.forward.pending() is not None
    lock.unlink()
    client.windows.poll()
    assert client.windows.forward.pending() is None
    assert git("status", "--porcelain") == ""


def test_a_file_that_a_person_is_changing_stays(
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
) -> None:
    """Nothing is written: whoever commits that file next would take it back without knowing."""
    file = repository / "clusters/week.yaml"
    mine = f"{file.read_text()}# mine\n"
    file.write_text(mine)
    body = {"state": "open", "for": "2h", "reason": "fix"}
    client = serve()
    assert client.ask("POST", "/policies/flux-system/week/overrides", body).status == 409
    assert file.read_text() == mine
    assert git("rev-list", "--count", "main").strip() == "1"
    git("restore", "clusters/week.yaml")
    assert client.ask("POST", "/policies/flux-system/week/overrides", body).status == 201
    assert "overrides:" in git("show", "main:clusters/week.yaml")
