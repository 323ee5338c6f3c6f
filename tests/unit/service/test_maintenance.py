"""A repository that is served for years does not grow without bound."""

import os
from pathlib import Path
from typing import Any

import pytest

Client = Any
Git = Any
Serve = Any
PATH = "/policies/flux-system/week"
CHANGES = 12


def loose(repository: Path) -> int:
    objects = repository / ".git/objects"
    # Git may be removing them just now, with their directories.
    found = ((Path(folder).name, files) for folder, _, files in os.walk(objects))
    return sum(len(files) for name, files in found if len(name) == 2)


def changed(client: Client, number: int) -> str:
    body = {"spec": {"windows": {"week": {"closes": f"Fri {number:02}:00"}}}}
    return str(client.patch(PATH, body).json()["commit"])


@pytest.mark.slow  # makes many commits
def test_objects_are_packed_where_git_finds_them_too_many(
    serve: Serve, repository: Path, git: Git
) -> None:
    client = serve()
    commits = [changed(client, number) for number in range(CHANGES)]
    before = loose(repository)
    assert before > 2 * CHANGES
    # By Git's own measure they are few: nothing happens.
    client.windows.maintain()
    assert loose(repository) == before
    # Git looks into one directory of 256, and takes it for all.
    git("config", "gc.auto", "1")
    client.windows.maintain()
    assert loose(repository) < before / 2
    assert git("log", "--format=%H", f"--max-count={CHANGES}").split() == commits[::-1]
    assert git("status", "--porcelain") == ""
    git("fsck", "--strict")
    changed(client, CHANGES)
    assert client.ask("GET", PATH).json()["spec"]["windows"]["week"]["closes"] == "Fri 12:00"
