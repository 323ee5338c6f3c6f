"""A repository that is served for years does not grow without bound."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from krm_windows.service import application
from krm_windows.service.access import Access, Ways

Serve = Any
Git = Any
PATH = "/policies/flux-system/week"
CHANGES = 12


def loose(repository: Path) -> int:
    """Count the objects that have a file each."""
    objects = repository / ".git/objects"
    # Git may be removing them just now, with their directories.
    found = ((Path(folder).name, files) for folder, _, files in os.walk(objects))
    return sum(len(files) for name, files in found if len(name) == 2)


def changed(client: Any, number: int) -> str:  # noqa: ANN401
    """Make a change; return its commit."""
    body = {"spec": {"windows": {"week": {"closes": f"Fri {number:02}:00"}}}}
    done = client.ask(
        "PATCH", PATH, body, if_match="*", content_type="application/merge-patch+json"
    )
    assert done.status == 200, done.body
    commit: str = done.json()["commit"]
    return commit


@pytest.mark.slow  # makes many commits
def test_objects_are_packed_where_git_finds_them_too_many(
    serve: Serve, repository: Path, git: Git
) -> None:
    """By the operator's own settings, and nothing of the history or of the tree is lost."""
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


@pytest.mark.slow  # makes many commits
def test_nothing_is_packed_while_a_change_is_made(serve: Serve, repository: Path, git: Git) -> None:
    """Whatever the operator has set: a change would take as long as that."""
    git("config", "gc.auto", "1")
    client = serve()
    counts = [loose(repository)]
    for number in range(CHANGES):
        changed(client, number)
        counts.append(loose(repository))
    assert counts == sorted(set(counts))


@pytest.mark.slow
def test_it_is_done_now_and_then(
    serve: Serve, repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the service runs, without anybody's asking."""
    git("config", "gc.auto", "1")
    monkeypatch.setattr(application, "_MAINTAIN_SECONDS", 0.01)
    client = serve()
    for number in range(CHANGES):
        changed(client, number)
    before = loose(repository)
    made = application.make(client.windows, Access(Ways()))

    async def run() -> None:
        messages = [{"type": "lifespan.startup"}]
        stop = asyncio.Event()

        async def receive() -> Any:  # noqa: ANN401 - ASGI's
            if messages:
                return messages.pop()
            await stop.wait()
            return {"type": "lifespan.shutdown"}

        async def send(_: Any) -> None:  # noqa: ANN401 - ASGI's
            await asyncio.sleep(0)

        task = asyncio.create_task(made({"type": "lifespan"}, receive, send))
        for _ in range(1000):
            await asyncio.sleep(0.02)
            if loose(repository) < before / 2:
                break
        stop.set()
        await task

    asyncio.run(run())
    assert loose(repository) < before / 2
