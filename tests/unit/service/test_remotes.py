"""A branch that is pushed: the remote comes first, and what it refuses never happened."""

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from listening import answering
from pydantic import SecretStr

from krm_windows.service.proposals import PullRequests
from krm_windows.system.git_program import RemoteError

Serve = Any

POLICY = "/policies/flux-system/week"
MERGE = "application/merge-patch+json"
Client = Any
Git = Callable[..., str]


def at(place: Path, *arguments: str) -> str:
    command = ["git", "-C", str(place), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def other(remote: Path, tmp_path: Path) -> Path:
    place = tmp_path / "other"
    at(tmp_path, "clone", "--quiet", str(remote), str(place))
    at(place, "config", "user.name", "Other")
    at(place, "config", "user.email", "other@example.com")
    return place


def push(other: Path, file: str, content: str) -> str:
    path = other / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    at(other, "add", ".")
    at(other, "commit", "--quiet", "--message=theirs")
    at(other, "push", "--quiet")
    return at(other, "rev-parse", "HEAD")


def patch(client: Client, closes: str) -> Any:  # noqa: ANN401 - an answer
    tag = client.ask("GET", POLICY).tag
    body = {"spec": {"windows": {"week": {"closes": closes}}}}
    return client.ask("PATCH", POLICY, body, if_match=tag, content_type=MERGE)


def is_clean(git: Git, remote: Path) -> bool:
    return git("status", "--porcelain") == "" and git("rev-parse", "main").strip() == at(
        remote, "rev-parse", "main"
    )


def test_a_change_is_pushed(serve: Serve, git: Git, remote: Path) -> None:
    done = patch(serve(remote="origin"), "Fri 12:00")
    assert done.status == 200
    assert at(remote, "rev-parse", "main") == done.json()["commit"]
    assert done.json()["missing"] == ["reconcile"]
    assert is_clean(git, remote)
    # What is there already needs nothing.
    again = patch(serve(remote="origin"), "Fri 12:00")
    assert (again.json()["commit"], again.json()["missing"]) == (None, [])


def test_what_the_remote_refuses_never_happened(serve: Serve, git: Git, remote: Path) -> None:
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho no changes in December >&2\nexit 1\n")
    hook.chmod(0o755)
    client = serve(remote="origin")
    before = git("rev-parse", "main")
    done = patch(client, "Fri 12:00")
    assert done.status == 502
    assert "no changes in December" in done.json()["detail"]
    assert git("rev-parse", "main") == before
    assert is_clean(git, remote)
    hook.unlink()
    assert patch(client, "Fri 12:00").status == 200


def test_a_remote_that_moved_elsewhere_is_built_upon(
    serve: Serve, git: Git, remote: Path, other: Path
) -> None:
    client = serve(remote="origin")
    theirs = push(other, "apps/new.yaml", "a: b\n")
    done = patch(client, "Fri 12:00")
    assert done.status == 200
    assert git("rev-parse", "main^").strip() == theirs
    assert git("show", "main:apps/new.yaml") == "a: b\n"
    assert is_clean(git, remote)


def test_a_file_that_changed_at_the_remote_is_a_conflict(
    serve: Serve, git: Git, remote: Path, other: Path
) -> None:
    client = serve(remote="origin")
    text = (other / "clusters/week.yaml").read_text()
    theirs = push(other, "clusters/week.yaml", text.replace("Mon 08:00", "Mon 06:00"))
    assert patch(client, "Fri 12:00").status == 412
    assert git("rev-parse", "main").strip() == theirs
    assert is_clean(git, remote)
    found = client.ask("GET", POLICY).json()
    assert found["spec"]["windows"]["week"]["opens"] == "Mon 06:00"
    assert patch(client, "Fri 12:00").status == 200


def test_branches_that_went_apart_are_left(
    serve: Serve, git: Git, remote: Path, other: Path, commit: Callable[..., str]
) -> None:
    """Which of the two is right is for a person to say."""
    assert remote
    push(other, "apps/new.yaml", "a: b\n")
    commit({"here.txt": "ours\n"})
    before = git("rev-parse", "main")
    client = serve(remote="origin")
    done = patch(client, "Fri 12:00")
    assert done.status == 409
    assert "have diverged" in done.json()["detail"]
    assert git("rev-parse", "main") == before


def test_what_comes_at_the_remote_is_taken_over(
    serve: Serve, git: Git, remote: Path, other: Path
) -> None:
    client = serve(remote="origin")
    push(other, "apps/new.yaml", "a: b\n")
    text = (other / "clusters/week.yaml").read_text()
    push(other, "clusters/week.yaml", text.replace("Thu 17:00", "Thu 15:00"))
    client.windows.fetch()
    assert client.ask("GET", POLICY).json()["spec"]["windows"]["week"]["closes"] == "Thu 15:00"
    assert git("rev-parse", "main").strip() == at(remote, "rev-parse", "main")


def test_a_pull_request_changes_nothing(
    serve: Serve, git: Git, remote: Path, tmp_path: Path
) -> None:
    program = tmp_path / "propose"
    program.write_text('#!/bin/sh\necho "https://forge.test/1?$1"\n')
    program.chmod(0o755)
    client = serve(remote="origin", proposals=PullRequests(command=str(program)))
    before = git("rev-parse", "main").strip()
    done = patch(client, "Fri 12:00")
    assert (done.status, done.json()["written"]) == (202, False)
    name = done.json()["pullRequest"].partition("?")[2]
    assert at(remote, "rev-parse", name) == done.json()["commit"]
    assert at(remote, "log", "-1", "--format=%an", name) == "Ada"
    assert before == at(remote, "rev-parse", "main") == git("rev-parse", "main").strip()
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("way", ["program", "token", "disk", "bug"])
def test_a_pull_request_that_fails_leaves_no_branch(
    way: str,
    serve: Serve,
    remote: Path,
    tool: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the reason is: nobody would look at it."""
    gone = remote / "gone"
    gone.write_text("secret")
    ways = {
        "program": (PullRequests(command=str(tool("false"))), 502),
        "token": (PullRequests(url="http://127.0.0.1:9/repos/a/b", tokenFile=gone), 502),
        "disk": (PullRequests(command="sh"), 503),
        "bug": (PullRequests(command="sh"), 500),
    }
    requests, status = ways[way]
    errors = {"disk": OSError(28, "No space left on device"), "bug": ValueError("odd")}
    if way in errors:
        monkeypatch.setattr(PullRequests, "open", Mock(side_effect=errors[way]))
    client = serve(remote="origin", proposals=requests)
    gone.unlink()
    done = patch(client, "Fri 12:00")
    assert done.status == status
    if way == "token":
        assert "its token cannot be read: No such file" in done.json()["detail"]
    assert at(remote, "branch", "--list").split() == ["*", "main"]


def test_a_key_is_known_of_what_was_proposed(
    serve: Serve, git: Git, remote: Path, tool: Callable[[str], Path]
) -> None:
    assert git
    body = {"state": "open", "for": "2h", "reason": "fix"}
    answers = []
    for number in range(4):
        client = serve(remote="origin", proposals=PullRequests(command=str(tool("true"))))
        if number == 3:
            at(remote, "branch", "--force", "main", answers[0].json()["commit"])
            client.windows.fetch()
        answers.append(client.ask("POST", f"{POLICY}/overrides", body, idempotency_key="k1"))
    assert len({done.json()["commit"] for done in answers}) == 1
    assert len(at(remote, "branch", "--list").splitlines()) == 2
    assert [done.status for done in answers] == [202, 202, 202, 201]
    assert [done.json()["written"] for done in answers] == [False, False, False, True]
    [name] = {done.json()["branch"] for done in answers[:3]}
    assert at(remote, "rev-parse", name) == answers[0].json()["commit"]
    assert "branch" not in answers[3].json()


def test_a_forge_is_asked_for_a_pull_request(
    serve: Serve, git: Git, remote: Path, tmp_path: Path
) -> None:
    assert git
    asked: list[tuple[str, str, Any]] = []

    def answer(
        what: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        asked.append((what, headers["Authorization"], json.loads(body)))
        said = b'{"html_url": "https://forge.test/acme/fleet/pulls/1"}'
        return 201 if len(asked) == 1 else 403, {}, said

    (tmp_path / "token").write_text("secret\n")
    with answering(answer) as address:
        forge = PullRequests(url=f"{address}/repos/acme/fleet", tokenFile=tmp_path / "token")
        client = serve(remote="origin", proposals=forge)
        done, refused = patch(client, "Fri 12:00"), patch(client, "Fri 13:00")
    assert done.status == 202
    assert done.json()["pullRequest"] == "https://forge.test/acme/fleet/pulls/1"
    what, authorization, body = asked[0]
    assert (what, authorization) == ("POST /repos/acme/fleet/pulls", "token secret")
    assert body["base"] == "main"
    assert at(remote, "rev-parse", body["head"]) == done.json()["commit"]
    assert refused.status == 502
    assert b"secret" not in refused.body
    assert len(at(remote, "branch", "--list").splitlines()) == 2


def test_a_remote_that_cannot_be_reached_is_said(serve: Serve, git: Git, remote: Path) -> None:
    client = serve()
    assert "remote" not in client.ask("GET", "/readyz").json()
    assert b"remote" not in client.ask("GET", "/metrics").body
    client = serve(remote="origin")
    metric = "krm_windows_remote_reached"

    def said() -> tuple[int, str, str]:
        ready = client.ask("GET", "/readyz")
        metrics = client.ask("GET", "/metrics").body.decode()
        values = [line for line in metrics.splitlines() if line.startswith(f"{metric} ")]
        return ready.status, ready.json()["remote"], "".join(values)

    assert said() == (200, "NotTried", "")
    client.windows.fetch()
    assert said() == (200, "Reached", f"{metric} 1.0")
    away = remote.rename(remote.with_name("away"))
    with pytest.raises(RemoteError):
        client.windows.fetch()
    assert said() == (200, "Unreachable", f"{metric} 0.0")
    # Its address is for nobody without a token.
    assert b"remote.git" not in client.ask("GET", "/readyz").body
    assert client.ask("GET", f"{POLICY}/state").status == 200
    # It is no reason to change anything here.
    assert patch(client, "Fri 12:00").status == 502
    assert git("rev-list", "--count", "main").strip() == "1"
    assert git("status", "--porcelain") == ""
    away.rename(remote)
    client.windows.fetch()
    assert said() == (200, "Reached", f"{metric} 1.0")


def test_what_became_of_a_pull_request_is_said(
    serve: Serve, git: Git, remote: Path, other: Path
) -> None:
    assert git
    asked: list[str] = []

    def answer(what: str, _: object, __: bytes) -> tuple[int, dict[str, str], bytes]:
        asked.append(what)
        url = f"https://forge.test/pulls/{len(asked)}"
        if what.startswith("POST"):
            return 201, {}, json.dumps({"html_url": url}).encode()
        heads = at(remote, "for-each-ref", "--format=%(objectname)", "refs/heads/krm-windows")
        found = [{"html_url": url, "head": {"sha": each}} for each in heads.split()]
        return 200, {}, json.dumps(found).encode()

    with answering(answer) as address:
        token = SecretStr("secret")
        forge = PullRequests(url=f"{address}/repos/acme/fleet", token=token)
        client = serve(remote="origin", proposals=forge)
        closes = [f"Fri {number}:00" for number in (12, 13, 14)]
        made = [patch(client, each).json() for each in closes]

        def states() -> list[str]:
            page = client.ask("GET", "/ui/policies/flux-system/week/history").body.decode()
            proposed = page.partition("Proposed")[2].partition('id="made-title"')[0]
            return re.findall(r'<span class="state \w+">([\w ]+)<', proposed)

        assert states() == ["Waits for review"] * 3
        # Squashed with another message; in the way of another; and gone.
        at(other, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
        at(other, "cherry-pick", "--no-commit", f"origin/{made[0]['branch']}")
        at(other, "commit", "--quiet", "--message=Later on Fridays (#7)")
        at(other, "push", "--quiet", "origin", "HEAD:main", f":{made[2]['branch']}")
        client.windows.fetch()
        assert sorted(states()) == ["Closed", "Conflicts", "Merged"]
        page = client.ask("GET", "/ui/policies/flux-system/week").body.decode()
        assert "https://forge.test/pulls/2" in page
        assert at(other, "rev-parse", "--short=10", "HEAD") in page
        # Another service knows nothing of the one that is gone, and asks for the addresses once.
        client = serve(remote="origin", proposals=forge)
        for _ in range(2):
            client.windows.fetch()
        assert sorted(states()) == ["Conflicts", "Merged"]
        assert [each[:4] for each in asked] == ["POST"] * 3 + ["GET "]
    # One whose commit is in the branch.
    at(other, "push", "--quiet", "--force", "origin", f"origin/{made[1]['branch']}:main")
    client.windows.branch.move(made[1]["commit"], client.windows.branch.tip())
    client.windows.refresh()
    assert "Merged" in states()
