"""A service that is killed at every step of a change: afterwards it happened, or it did not."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Serve = Any

Git = Callable[..., str]
WRITER = """\
import os
import sys
from itertools import count
from pathlib import Path

from krm_windows.edit.patches import patched
from krm_windows.service.access import EVERYTHING, Caller
from krm_windows.service.settings import Settings
from krm_windows.service.windows import Windows
from krm_windows.service.writing import Order, Place, Writer
from krm_windows.system import programs
from krm_windows.system.git_branch import Person

windows = Windows(Settings(repo=Path(sys.argv[1]), branch="main", remote=sys.argv[2] or None))
writer = Writer(windows)
order = Order(Caller("ada", Person("Ada", "ada@example.com"), EVERYTHING), "later")


def write(minute):
    patch = {"spec": {"windows": {"week": {"closes": f"Fri 12:{minute:02}"}}}}
    writer.change(Place("flux-system", "week"), lambda old: patched(old, patch), order)


"""
# Every program that is started, and every call that changes a file, is a step; before one of
# them the process ends, as if it had been killed.
KILLED = f"""{WRITER}
left = int(sys.argv[3])


def stepping(function):
    def step(*arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return function(*arguments, **options)

    return step


programs.run = stepping(programs.run)
for name in ("rename", "link", "unlink", "fsync", "mkdir", "rmdir", "replace"):
    setattr(os, name, stepping(getattr(os, name)))
write(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("pushes", [False, True])
def test_killed_at_every_step(
    *, pushes: bool, serve: Serve, git: Git, repository: Path, tmp_path: Path
) -> None:
    place = tmp_path / "remote.git"
    name = ""
    if pushes:
        git("clone", "--quiet", "--bare", str(repository), str(place))
        git("remote", "add", "origin", str(place))
        name = "origin"
    before = git("rev-parse", "main").strip()
    ends: set[bool] = set()
    for step in range(200):
        command = [sys.executable, "-c", KILLED, str(repository), name, str(step)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        client = serve(remote=name or None)
        client.windows.fetch()
        happened = git("rev-parse", "main").strip() != before
        ends.add(happened)
        text = git("show", "main:clusters/week.yaml")
        assert ("Fri 12:00" in text) is happened, (step, done.stderr)
        assert git("fsck", "--strict", "--no-dangling") == ""
        assert not list(repository.glob(".git/**/*.lock")), step
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


WRITING = f"{WRITER}for number in count():\n    write(number % 60)\n    print(number, flush=True)\n"


@pytest.mark.slow
def test_killed_at_any_moment(serve: Serve, git: Git, repository: Path) -> None:
    """In the middle of libgit2, too: every commit is whole, and the next service goes on."""
    for number in range(20):
        command = [sys.executable, "-c", WRITING, str(repository), ""]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            time.sleep(number * 0.003)
            process.kill()
        body = {"state": "open", "for": "2h", "reason": "fix", "name": f"fix-{number}"}
        for lock in repository.glob(".git/**/*.lock"):
            os.utime(lock, (0, 0))
        assert serve().ask("POST", "/policies/flux-system/week/overrides", body).status == 201
        assert "error" not in git("fsck", "--strict", "--no-dangling")


def test_a_lock_that_a_crash_left_is_no_obstacle(serve: Serve, git: Git, repository: Path) -> None:
    """One of now is somebody's, so the change is refused; it is a dead one some seconds later."""
    client = serve()
    body = {"state": "open", "for": "2h", "reason": "fix"}
    lock = repository / ".git/refs/heads/main.lock"
    lock.touch()
    assert client.ask("POST", "/policies/flux-system/week/overrides", body).status == 409
    os.utime(lock, (0, 0))
    assert client.ask("POST", "/policies/flux-system/week/overrides", body).status == 201
    assert "overrides:" in git("show", "main:clusters/week.yaml")
