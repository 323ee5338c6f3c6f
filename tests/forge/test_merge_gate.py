"""`krm-windows merge-gate` on a real Gitea, whose protected branch demands the status."""

import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY
from committed import CLUSTER, FLUX
from forges import configured
from gitea import Repository, until

from krm_windows.cli import merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.forge import Method, PullRequest
from krm_windows.forge.gitea import Gitea

pytestmark = pytest.mark.slow
CONTEXT = "krm-windows/windows"
# In Berlin it is Thursday, 17:00: closed until Monday, 08:00.
CLOSED = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
OPEN = datetime(2026, 12, 21, 7, 0, tzinfo=UTC)
GATED = {"apps/web.yaml": "a: 1\n"}
FREE = {"docs/page.md": "# A page\n"}

Gate = Callable[..., None]


@pytest.fixture
def gate(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    repository.protect(CONTEXT)
    git(tmp_path, "clone", "--quiet", repository.remote, "clone")
    monkeypatch.chdir(tmp_path / "clone")
    (tmp_path / "policy.yaml").write_text(POLICY)
    token = repository.gitea.token("acme", "read:issue", "write:repository")
    monkeypatch.setenv("GITEA_TOKEN", token)
    where = ["--forge", "gitea", "--repo", repository.full, "--url", repository.gitea.api]
    how = ["paths: [apps/*]", f"context: {CONTEXT}", "link: https://windows.test/"]

    def call(at: datetime, *options: str, code: int = 0) -> None:
        given = configured([*how, *options])
        words = ["merge-gate", str(tmp_path / "policy.yaml"), *where, *given]
        assert merge_gate.run(parser(COMMANDS, words).parse_args(words), ours(at)) == code

    return call


def ours(at: datetime) -> Clock:
    """Return a clock that sleeping turns; Gitea has some time of its own then."""
    hands = [at]

    def sleep(seconds: float) -> None:
        hands[0] += timedelta(seconds=seconds)
        time.sleep(min(seconds, 2))

    return Clock(lambda: hands[0], sleep)


def refused(repository: Repository, number: int) -> bool:
    status, words = repository.merge(number)
    assert not repository.is_merged(number)
    return status == 405 and "status checks" in words.lower()


def test_a_change_is_blocked_outside_the_window_and_lands_inside(
    repository: Repository, gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    number = repository.pull("topic", GATED)
    free = repository.pull("docs", FREE)
    assert refused(repository, number)
    gate(CLOSED)
    assert "pending: closed until Mon 2026-12-21 08:00" in capsys.readouterr().out
    assert repository.states(number) == {CONTEXT: "pending"}
    assert refused(repository, number)
    gate(CLOSED)
    assert repository.merge(free) == (200, "")
    assert capsys.readouterr().out == ""
    gate(OPEN)
    [said] = repository.call("GET", f"commits/{repository.head(number)}/status")["statuses"]
    assert said["status"] == "success"
    assert said["target_url"] == "https://windows.test/"
    assert repository.merge(number) == (200, "")
    assert repository.is_merged(number)


def test_the_merge_of_gitea_itself_lands_it_when_the_window_opens(
    repository: Repository, gate: Gate
) -> None:
    """Somebody has asked for "merge when checks succeed" while it was closed."""
    number = repository.pull("topic", GATED)
    gate(CLOSED)
    status, _ = repository.merge(number, merge_when_checks_succeed=True)
    assert status == 201
    gate(CLOSED)
    assert not repository.is_merged(number)
    gate(OPEN)
    until("Gitea has merged it", lambda: repository.is_merged(number))


def test_a_push_has_no_success(repository: Repository, gate: Gate) -> None:
    number = repository.pull("topic", FREE)
    gate(CLOSED)
    before = repository.head(number)
    repository.write(GATED, "topic", new=False)
    until("the head has moved", lambda: repository.head(number) != before)
    repository.wait_for_checks(number)
    assert repository.states(number) == {}
    assert refused(repository, number)
    gate(CLOSED)
    assert repository.states(number) == {CONTEXT: "pending"}
    assert refused(repository, number)


def test_more_changes_than_a_page_has(repository: Repository, gate: Gate) -> None:
    """Gitea gives fewer at once than it is asked for; each has its status."""
    numbers = [repository.pull(f"topic-{index}", {f"apps/{index}": ""}) for index in range(7)]
    gate(CLOSED)
    assert [repository.states(each) for each in numbers] == [{CONTEXT: "pending"}] * 7


def test_it_merges_what_is_scheduled(
    repository: Repository, gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    """After each merge Gitea looks anew whether the others can be merged."""
    numbers = [repository.pull(f"topic-{index}", {f"apps/{index}": ""}) for index in range(3)]
    *scheduled, other = numbers
    for number in scheduled:
        repository.label(number, "window:week")
    gate(CLOSED, "merge: true")
    assert [repository.is_merged(number) for number in numbers] == [False] * 3
    gate(OPEN, "merge: true", "--dry-run")
    assert [repository.is_merged(number) for number in numbers] == [False] * 3
    capsys.readouterr()
    gate(OPEN, "merge: true")
    assert [repository.is_merged(number) for number in numbers] == [True, True, False]
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines() if " merged: " in line] == [
        f"#{number}" for number in scheduled
    ]
    assert repository.states(other) == {CONTEXT: "success"}


def test_a_push_before_the_merge_is_not_merged(
    repository: Repository,
    gate: Gate,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = repository.pull("topic", FREE)
    repository.label(number, "window:week")
    before = repository.head(number)
    clone = tmp_path / "topic"
    git(tmp_path, "clone", "--quiet", "--branch", "topic", repository.remote, str(clone))
    merge = Gitea.merge

    def pushed(forge: Gitea, change: PullRequest, method: Method | None = None) -> None:
        (clone / "apps").mkdir()
        (clone / "apps/web.yaml").write_text("a: 1\n")
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--amend", "--message", "Another one")
        git(clone, "push", "--quiet", "--force")
        merge(forge, change, method)

    with monkeypatch.context() as patched:
        patched.setattr(Gitea, "merge", pushed)
        gate(OPEN, "merge: true", code=1)
    assert repository.head(number) != before
    assert not repository.is_merged(number)
    assert f"#{number} " in capsys.readouterr().err
    until("it can be looked at again", lambda: repository.wait_for_checks(number) is None)
    gate(OPEN, "merge: true")
    assert repository.is_merged(number)


def test_it_approves_what_is_scheduled(
    repository: Repository, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.call("PATCH", "branch_protections/main", {"required_approvals": 1})
    number = repository.pull("topic", GATED)
    repository.label(number, "window:week")
    token = repository.gitea.token("ada", "write:issue", "write:repository")
    monkeypatch.setenv("GITEA_TOKEN", token)
    gate(CLOSED, "approveOnly: true")
    assert repository.call("GET", f"pulls/{number}/reviews") == []
    gate(OPEN)
    assert repository.merge(number)[0] == 405
    gate(OPEN, "approveOnly: true")
    [review] = repository.call("GET", f"pulls/{number}/reviews")
    assert (review["state"], review["user"]["login"]) == ("APPROVED", "ada")
    assert review["commit_id"] == repository.head(number)
    assert repository.merge(number) == (200, "")


def test_commits_of_open_changes_are_fetched_and_compared(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write(CLUSTER, "main", new=False)
    repository.protect(CONTEXT)
    copy = {"clusters/north/copy.yaml": FLUX % ("copy", "apps")}
    waits = repository.pull("path", copy)
    free = repository.pull("free", {"docs/page.md": "A page\n"})
    clone = tmp_path / "clone"
    command = ("clone", "--quiet", "--single-branch", "--branch", "main")
    git(tmp_path, *command, repository.remote, str(clone))
    repository.gitea.call("PATCH", f"repos/{repository.full}", {"private": True})
    scheme, _, rest = repository.remote.partition("://")
    git(clone, "remote", "set-url", "origin", f"{scheme}://{rest.rpartition('@')[2]}")
    monkeypatch.chdir(clone)
    token = repository.gitea.token("acme", "read:issue", "write:repository")
    monkeypatch.setenv("GITEA_TOKEN", token)
    where = ["--forge", "gitea", "--repo", repository.full, "--url", repository.gitea.api]
    given = configured([f"context: {CONTEXT}"])
    words = ["merge-gate", "clusters/north/policy.yaml", *where, *given]
    assert merge_gate.run(parser(COMMANDS, words).parse_args(words), ours(CLOSED)) == 0
    assert repository.states(waits) == {CONTEXT: "pending"}
    assert repository.states(free) == {CONTEXT: "success"}
    assert repository.merge(free) == (200, "")
    assert refused(repository, waits)


def git(folder: Path, *words: str) -> str:
    somebody = ["-c", "user.name=Ada", "-c", "user.email=ada@forge.test"]
    command = ["git", "-C", str(folder), *somebody, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
