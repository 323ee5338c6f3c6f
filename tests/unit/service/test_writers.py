"""Many at once: the history holds exactly what was accepted, and nothing is lost."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Client = Any
Serve = Any
Commit = Any
Patch = pytest.MonkeyPatch

POLICY = "/policies/flux-system/week"
MERGE = "application/merge-patch+json"
Git = Callable[..., str]


@pytest.mark.slow
def test_twenty_writers_and_two_services(serve: Serve, git: Git, commit: Commit) -> None:
    commit({f"other-{number}.yaml": f"a: {number}\n" for number in range(30)})
    services = [serve(), serve()]
    over = threading.Event()

    def poll() -> None:
        while not over.wait(0.01):
            for service in services:
                service.windows.poll()

    def write(number: int) -> list[str]:
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


def test_overrides_of_a_minute_get_names_of_their_own(serve: Serve) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    body = {"state": "open", "for": "2h", "reason": "r"}

    def make(number: int) -> tuple[int, str]:
        asked = body | {"cluster": "north"} if number % 2 else body
        answer = client.ask("POST", f"{POLICY}/overrides", asked)
        return answer.status, answer.json().get("override")

    with ThreadPoolExecutor(6) as pool:
        made = set(pool.map(make, range(6)))
    first = "open-20261123-1000"
    assert made == {(201, first), *((201, f"{first}-{number}") for number in range(2, 7))}


def test_a_key_is_one_change(serve: Serve, git: Git) -> None:
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


def meanwhile(client: Client, do: Callable[[], object], monkeypatch: Patch) -> None:
    own, left = client.windows.branch.commit, [do]

    def committed(*arguments: object) -> Any:  # noqa: ANN401 - what it returns
        if left:
            left.pop()()
        return own(*arguments)

    monkeypatch.setattr(client.windows.branch, "commit", committed)


@pytest.mark.parametrize("way", ["change", "remove", "create"])
def test_a_commit_that_comes_while_a_change_is_checked_is_kept(  # noqa: PLR0913, PLR0917
    way: str, serve: Serve, git: Git, repository: Path, commit: Commit, monkeypatch: Patch
) -> None:
    client = serve()
    file = repository / ("flux-system-other.yaml" if way == "create" else "clusters/week.yaml")
    theirs = "# Theirs.\n"

    def come() -> None:
        text = theirs + (file.read_text() if file.exists() else "")
        commit({str(file.relative_to(repository)): text}, "theirs")
        # As it does once a second.
        client.windows.poll()

    meanwhile(client, come, monkeypatch)
    policy = client.ask("GET", POLICY)
    match way:
        case "change":
            body: Any = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
            done = client.ask("PATCH", POLICY, body, if_match=policy.tag, content_type=MERGE)
        case "remove":
            done = client.ask("DELETE", POLICY, if_match=policy.tag)
        case _:
            body = policy.json()
            body["metadata"]["name"] = "other"
            body["spec"]["targets"][0]["names"] = ["other"]
            done = client.ask("PUT", "/policies/flux-system/other", body, if_none_match="*")
    assert done.status == (409 if way == "create" else 412), done.body
    assert file.read_text().startswith(theirs)
    assert git("show", f"main:{file.relative_to(repository)}").startswith(theirs)
    assert git("log", "-1", "--format=%s").strip() == "theirs"


def test_a_commit_of_other_files_keeps_no_change_back(
    serve: Serve, git: Git, commit: Commit, monkeypatch: Patch
) -> None:
    client = serve()

    meanwhile(client, lambda: commit({"other.yaml": "a: b\n"}, "theirs"), monkeypatch)
    body = {"state": "open", "for": "2h", "reason": "fix"}
    assert client.ask("POST", f"{POLICY}/overrides", body).status == 201
    assert git("log", "--format=%s").split() == ["fix", "theirs", "first"]
    assert git("status", "--porcelain") == ""
