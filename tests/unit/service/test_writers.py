"""Many at once: the history holds exactly what was accepted, and nothing is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

POLICY = "/policies/flux-system/week"
MERGE = "application/merge-patch+json"
Git = Callable[..., str]


@pytest.mark.slow
def test_twenty_writers_and_two_services(
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
) -> None:
    """Each change is one commit, made of the version that its caller had read."""
    for number in range(30):
        (repository / f"other-{number}.yaml").write_text(f"a: {number}\n")
    git("add", ".")
    git("commit", "--quiet", "--message=others")
    services = [serve(), serve()]
    over = threading.Event()

    def poll() -> None:
        while not over.wait(0.01):
            for service in services:
                service.windows.poll()

    def write(number: int) -> list[str]:
        """Change the policy twice, and read it again whenever somebody else was faster."""
        client = services[number % 2]
        accepted: list[str] = []
        while len(accepted) < 2:
            # As another service may have changed it a moment ago.
            client.windows.refresh()
            tag = client.ask("GET", POLICY).tag
            closes = f"Thu {number:02d}:{10 + len(accepted)}"
            body = {"spec": {"windows": {"week": {"closes": closes}}}}
            done = client.ask("PATCH", POLICY, body, if_match=tag, content_type=MERGE)
            assert done.status in (200, 412, 503), done.body
            if done.status == 200:
                accepted.append(done.json()["commit"])
        return accepted

    poller = threading.Thread(target=poll)
    poller.start()
    try:
        with ThreadPoolExecutor(20) as pool:
            accepted = [commit for every in pool.map(write, range(20)) for commit in every]
    finally:
        over.set()
        poller.join()
    history = git("log", "--format=%H", "main", "--", "clusters/week.yaml").split()
    assert sorted(history[:-1]) == sorted(accepted)
    assert len(set(accepted)) == 40
    assert git("status", "--porcelain") == ""
    assert len(git("ls-files").split()) == 31
    assert git("fsck", "--strict") == ""


def test_a_key_is_one_change(serve: Any, git: Git) -> None:  # noqa: ANN401
    """Asked again, after a restart too, it is answered again and not made again."""
    body = {"state": "open", "for": "2h", "reason": "fix"}
    first = serve().ask("POST", f"{POLICY}/overrides", body, idempotency_key="k1")
    assert first.status == 201
    client = serve()
    again = client.ask("POST", f"{POLICY}/overrides", body, idempotency_key="k1")
    assert again.status == 201
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["commit"] == first.json()["commit"]
    assert again.json()["override"] == first.json()["override"]
    assert git("rev-list", "--count", "main").strip() == "2"
    other = {**body, "reason": "another"}
    assert client.ask("POST", f"{POLICY}/overrides", other, idempotency_key="k1").status == 422


def test_an_index_that_is_gone_is_made_whole(
    serve: Any,  # noqa: ANN401
    git: Git,
    repository: Path,
) -> None:
    """An empty one would say that every other file is removed."""
    (repository / "other.yaml").write_text("a: b\n")
    git("add", ".")
    git("commit", "--quiet", "--message=other")
    (repository / ".git/index").unlink()
    body = {"state": "open", "for": "2h", "reason": "fix"}
    client = serve()
    # Without an index, Git takes every file for one that is removed from it.
    assert client.ask("POST", f"{POLICY}/overrides", body).status == 409
    git("reset", "--quiet")
    assert client.ask("POST", f"{POLICY}/overrides", body).status == 201
    assert git("status", "--porcelain") == ""
    assert git("ls-files").split() == ["clusters/week.yaml", "other.yaml"]


def test_a_reason_is_one_line_of_a_commit(client: Any, git: Git) -> None:  # noqa: ANN401
    """Nobody can put trailers below it, such as the key of another caller."""
    forged = f"Idempotency-Key: {'0' * 64}/{'0' * 64}"
    body = {"state": "open", "for": "2h", "reason": f"fix\n\n{forged}\x1b[31m"}
    assert client.ask("POST", f"{POLICY}/overrides", body).status == 201
    assert git("log", "-1", "--format=%s").strip() == f"fix {forged} [31m"
    trailers = git("log", "-1", "--format=%(trailers:key=Idempotency-Key)")
    assert trailers.strip() == ""
