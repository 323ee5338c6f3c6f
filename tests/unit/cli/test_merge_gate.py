"""`krm-windows merge-gate`, against forges of ours on loopback: statuses, merges, approvals."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from calls import POLICY, program, spec
from forges import CANNOT_BE_MERGED, KINDS, TOKEN, Pull, Server, configured, serving

from krm_windows.cli import main, merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.system.errors import WorkspaceError

# In Berlin it is Wednesday, 12:00: open until Thursday, 17:00; after that closed until Monday.
WEDNESDAY = datetime(2026, 12, 16, 11, 0, tzinfo=UTC)
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
OPEN = "open until Thu 2026-12-17 17:00 Europe/Berlin: flux-system/week (windows.office)\n"
CLOSED = "closed until Mon 2026-12-21 08:00 Europe/Berlin: flux-system/week (no window is open)\n"
LABELS = ("window:week",)
Said = Callable[[], str]
ON_EACH = pytest.mark.parametrize("server", KINDS, indirect=True)
MERGES_OR_APPROVES = pytest.mark.parametrize("option", ["merge: true", "approveOnly: true"])


class Hands:
    def __init__(self, at: datetime) -> None:
        self.at = at
        self.slept: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += timedelta(seconds=seconds)
        self.meanwhile()


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    kind = getattr(request, "param", "github")
    monkeypatch.setenv(f"{kind.upper()}_TOKEN", TOKEN)
    pulls = (
        Pull(1, "a" * 40, ("apps/web.yaml",), LABELS),
        Pull(2, "b" * 40, ("docs/b.md",)),
        Pull(3, "c" * 40, ("docs/a.md",), LABELS),
    )
    with serving(kind, *pulls) as found:
        found.is_checked_out(monkeypatch)
        yield found


@pytest.fixture(autouse=True)
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    def found() -> str:
        printed = capsys.readouterr()
        lines = (printed.out + printed.err).splitlines(keepends=True)
        return "".join(line for line in lines if " success: " not in line)

    return found


def gated(server: Server, *options: str, hands: Hands | None = None) -> ExitCode:
    where = ("--forge", server.kind, "--repo", "acme/fleet", "--url", server.address)
    arguments = ["merge-gate", "policy.yaml", *where, *configured(["paths: [apps/*]", *options])]
    turned = hands or Hands(WEDNESDAY)
    clock = Clock(turned.now, turned.sleep)
    return merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments), clock)


def states(server: Server) -> dict[str, str]:
    return {sha[0]: server.latest(sha)["state"] for sha in server.statuses}


def test_changes_wait_by_path(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    closed = Hands(THURSDAY)
    assert gated(server, "--dry-run", hands=closed) == 0
    assert server.statuses == {}
    assert f"#1 aaaaaaaaaaaa would be pending: {CLOSED}" in capsys.readouterr().out
    assert gated(server, "link: https://windows.test/", hands=closed) == 0
    assert states(server) == {"a": "pending", "b": "success", "c": "pending"}
    assert server.latest("a" * 40)["target_url"] == "https://windows.test/"
    printed = capsys.readouterr()
    assert printed.out.splitlines(keepends=True) == [
        f"#1 aaaaaaaaaaaa pending: {CLOSED}",
        "#2 bbbbbbbbbbbb success: changes nothing that a window gates\n",
        f"#3 cccccccccccc pending: {CLOSED}",
    ]
    assert printed.err == ""
    assert gated(server, hands=closed) == 0
    assert capsys.readouterr().out == ""
    assert gated(server) == 0
    assert set(states(server).values()) == {"success"}


def test_a_token_comes_from_a_file(
    server: Server, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a pipe, so that it is in no environment; it wins over the one that is."""
    (policy / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("GITHUB_TOKEN", "another")
    assert gated(server, "--token-file", "token") == 0
    assert len(states(server)) == 3
    (policy / "token").write_text("\n")
    with pytest.raises(WorkspaceError, match=r"no token: .*--token-file"):
        gated(server, "--token-file", "token")


def test_a_right_that_is_missing_fails_and_says_so(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def before(method: str, _path: str) -> None:
        if method == "POST":
            words = f"\x1b[31mnot with {TOKEN}\n::error::x"
            server.troubles = [(403, {}, {"message": words})]

    server.before = before
    assert gated(server) == 1
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 3)
    assert "(does the token have the permission?)" in said.err
    assert TOKEN not in said.err
    assert "\x1b" not in said.err


def test_many_changes_are_asked_for_at_the_same_time(server: Server) -> None:
    server.pulls = [Pull(number, f"{number:040x}", ("docs/a",)) for number in range(60)]
    # Only four that are under way together get past it.
    together = threading.Barrier(4, timeout=60)
    under_way: list[int] = []
    most: list[int] = []

    def before(method: str, _path: str) -> None:
        if method == "POST":
            under_way.append(1)
            most.append(len(under_way))
            together.wait()
            under_way.pop()

    server.before = before
    assert gated(server, "jobs: 4") == 0
    assert (len(server.statuses), max(most)) == (60, 4)


def test_a_schedule_meets_every_edge(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(spec(timeZone="Etc/UTC"))
    answer = program(
        "", "merge-gate", "policy.yaml", "policy.yaml", "other.yaml", "--print-schedule"
    )
    assert answer.code == 0, answer.err
    found = [each["cron"] for each in yaml.load(answer.out, yaml.CSafeLoader)["schedule"]]
    # 08:00 and 17:00 in Berlin are one or two hours earlier in UTC.
    assert found == ["0 6,7 * * 1", "0 15,16 * * 4", "0 8 * * 1", "0 17 * * 4"]


def test_what_waits_for_a_limit_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """A runner that is stopped does not wait for five minutes, or is killed meanwhile."""
    asked = threading.Event()
    with serving("github", Pull(1, "a" * 40)) as server:

        def before(method: str, _path: str) -> None:
            if method == "POST":
                server.troubles = [(429, {"Retry-After": "250"}, {})]
                asked.set()

        server.before = before
        where = ("--forge", "github", "--repo", "acme/fleet", "--url", server.address)
        command = [sys.executable, "-m", "krm_windows", "merge-gate", "policy.yaml", *where]
        environment = {**os.environ, "GITHUB_TOKEN": TOKEN}
        with subprocess.Popen(
            [*command, *configured(["paths: ['*']"])], cwd=tmp_path, env=environment
        ) as running:
            assert asked.wait(60)
            # It has read the answer by then, and sleeps.
            time.sleep(1)
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == ExitCode.TERMINATED


def test_a_repository_without_its_owner_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge-gate", "policy.yaml", "--forge", "github", "--repo", "acme"]) == 2
    assert "argument --repo: must be OWNER/NAME, got 'acme'" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--forge", "github")])
def test_a_call_without_a_repository_is_wrong(options: tuple[str, ...]) -> None:
    arguments = ["merge-gate", "policy.yaml", *options]
    with pytest.raises(InputError, match="give --forge and --repo"):
        merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments))


@ON_EACH
def test_the_changes_of_a_window_are_merged(server: Server, said: Said) -> None:
    assert gated(server, "merge: true") == 0
    assert server.merged == [(1, "a" * 40), (3, "c" * 40)]
    assert said() == f"#1 aaaaaaaaaaaa merged: {OPEN}#3 cccccccccccc merged: {OPEN}"


@pytest.mark.parametrize(("early", "slept"), [(0, []), (40, [15.0, 15.0, 10.0])])
def test_nothing_is_merged_while_it_is_closed(
    server: Server, said: Said, early: int, slept: list[float]
) -> None:
    """Nor what touches nothing gated: by its label somebody wants that in the window, too."""
    hands = Hands(THURSDAY - timedelta(seconds=early))
    server.pulls[0].checks = {"ci": "pending"}
    assert gated(server, "merge: true", hands=hands) == 0
    assert (server.merged, hands.slept) == ([], slept)
    assert server.latest("a" * 40)["state"] == "pending"
    assert f"#1 aaaaaaaaaaaa not merged: {CLOSED}#3 cccccccccccc not merged: {CLOSED}" in said()


@MERGES_OR_APPROVES
def test_a_dry_run_changes_nothing_and_waits_for_nothing(
    server: Server, said: Said, option: str
) -> None:
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}
    merges = option == "merge: true"
    assert gated(server, option, "--dry-run", hands=hands) == 0
    assert not any(each.startswith(("POST", "PUT")) for each in server.asked)
    assert hands.slept == []
    lines = said()
    would = f"would be {'merged' if merges else 'approved'}: {OPEN}"
    assert ("has not finished\n" if merges else f"#1 aaaaaaaaaaaa {would}") in lines
    assert f"#3 cccccccccccc {would}" in lines


@ON_EACH
def test_checks_are_waited_for(server: Server, said: Said) -> None:
    hands = Hands(WEDNESDAY)
    first = server.pulls[0]
    first.checks = {"ci": "pending"}

    def meanwhile() -> None:
        assert server.merged == []
        first.checks = {"ci": "pending" if len(hands.slept) < 40 else "success"}
        first.unknown = 40 <= len(hands.slept) < 43

    hands.meanwhile = meanwhile
    assert gated(server, "merge: true", hands=hands) == 0
    assert hands.slept == [15.0] * 43
    assert [number for number, _ in server.merged] == [1, 3]
    assert "merged" in said()


REASONS = {
    "conflicts": {
        "github": "GitHub reports dirty",
        "gitlab": "GitLab reports conflict",
        "gitea": "it conflicts with its base branch",
    },
    "unreviewed": {
        "github": "GitHub reports blocked",
        "gitlab": "GitLab reports not_approved",
        "gitea": f"405: {CANNOT_BE_MERGED['gitea'][2]['message']}",
    },
    "draft": {**dict.fromkeys(KINDS, "it is a draft"), "gitlab": "GitLab reports draft_status"},
    "checks": {
        **dict.fromkeys(KINDS, "the check ci has failed"),
        "gitlab": "its pipeline has failed",
    },
    "unknown": {
        "github": "GitHub reports unknown",
        "gitlab": "GitLab reports checking",
        "gitea": "it conflicts with its base branch",
    },
}


@ON_EACH
@pytest.mark.parametrize("trouble", REASONS)
def test_the_first_that_cannot_be_merged_ends_it(server: Server, said: Said, trouble: str) -> None:
    """With the reason; those behind it may need it, and are not tried."""
    hands = Hands(WEDNESDAY)
    checks = {"ci": "failure", "lint": "pending"}
    setattr(server.pulls[0], trouble, checks if trouble == "checks" else True)
    assert gated(server, "merge: true", hands=hands) == 1
    # For a minute the forge may still be working it out.
    assert trouble != "unknown" or hands.slept == [15.0] * 4
    assert server.merged == []
    lines = said()
    assert "krm-windows: #1 aaaaaaaaaaaa not merged: " in lines
    assert f"{REASONS[trouble][server.kind]}\n" in lines
    assert "#3 cccccccccccc not merged: not tried, because #1 failed\n" in lines


@ON_EACH
def test_checks_without_end_end_it(server: Server, said: Said) -> None:
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}
    assert gated(server, "merge: true", "timeout: 10m", hands=hands) == 1
    assert sum(hands.slept) == 600
    assert "has not finished\n" in said()


@ON_EACH
def test_a_merge_that_is_refused_for_a_moment_is_tried_again(server: Server) -> None:
    """Gitea looks for conflicts in every other change after a merge, and shows what was before."""
    hands = Hands(WEDNESDAY)
    refusals = [CANNOT_BE_MERGED[server.kind]] * 2

    def before(_method: str, path: str) -> None:
        if path.endswith("3/merge") and refusals:
            server.troubles = [refusals.pop()]

    server.before = before
    assert gated(server, "merge: true", hands=hands) == 0
    assert server.merged == [(1, "a" * 40), (3, "c" * 40)]
    assert hands.slept == [15.0, 15.0]


@ON_EACH
def test_a_token_that_may_not_merge_ends_it(server: Server, said: Said) -> None:
    server.may_merge = False
    assert gated(server, "merge: true") == 1
    assert server.merged == []
    lines = said()
    words = {
        "github": "the token has no permission: PUT repos/acme/fleet/pulls/1/merge: 403",
        "gitlab": "the token has no permission: PUT projects/acme%2Ffleet/merge_requests/1",
        "gitea": "405: User not allowed to merge PR",
    }
    assert words[server.kind] in lines
    assert TOKEN not in lines


@ON_EACH
@MERGES_OR_APPROVES
def test_a_push_before_the_merge_merges_nothing(server: Server, said: Said, option: str) -> None:
    """The commit that was seen goes along, so the forge refuses any other."""

    def before(_method: str, path: str) -> None:
        if path.endswith(("1/merge", "1/reviews", "1/approve")):
            server.pulls[0].sha = "f" * 40

    server.before = before
    assert gated(server, option) == 1
    assert server.merged == []
    assert server.pulls[0].reviews == []
    assert ": its head has moved to ffffffffffff: check again\n" in said()


def test_a_window_that_closes_before_the_merge_merges_nothing(server: Server, said: Said) -> None:
    hands = Hands(THURSDAY - timedelta(seconds=1))

    def before(_method: str, path: str) -> None:
        if path.endswith("/1"):
            hands.at = THURSDAY

    server.before = before
    assert gated(server, "merge: true", hands=hands) == 0
    assert server.merged == []
    assert f"#1 aaaaaaaaaaaa not merged: {CLOSED}" in said()


@ON_EACH
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"state": "merged"}, 0, "merged: by someone else"),
        ({"state": "closed"}, 1, "not merged: it is closed"),
        ({"sha": "f" * 40}, 1, "not merged: its head has moved to ffffffffffff: check again"),
    ],
)
def test_a_change_that_is_another_one_meanwhile_is_not_merged(
    server: Server, said: Said, change: dict[str, str], code: int, words: str
) -> None:
    def before(_method: str, path: str) -> None:
        if path.endswith("/1"):
            vars(server.pulls[0]).update(change)

    server.before = before
    assert gated(server, "merge: true") == code
    assert 1 not in dict(server.merged)
    assert f"#1 aaaaaaaaaaaa {words}\n" in said()


def test_an_answer_that_is_lost_is_looked_for(server: Server, said: Said) -> None:
    sent = []

    def before(_method: str, path: str) -> None:
        if path.endswith("/merge"):
            sent.append(path)
            # What a proxy says while the forge merges.
            server.troubles = [(502, {}, {})]
            [pull] = [each for each in server.pulls if f"/{each.number}/merge" in path]
            pull.state = "merged" if pull.number == 1 else "open"

    server.before = before
    assert gated(server, "merge: true") == 1
    lines = said()
    assert "#1 aaaaaaaaaaaa merged: " in lines
    assert "#3 cccccccccccc not merged: " in lines
    assert ": 502" in lines
    assert len(sent) == 2


@ON_EACH
@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("squash", {"github": {"merge_method": "squash"}, "gitlab": {"squash": True}}),
        ("merge", {"github": {"merge_method": "merge"}, "gitlab": {"squash": False}}),
        ("rebase", {"github": {"merge_method": "rebase"}}),
        (None, {"github": {}, "gitlab": {}}),
    ],
)
def test_a_method_is_sent_along(
    server: Server, method: str | None, sent: dict[str, dict[str, object]]
) -> None:
    """Without one it is the forge's own; GitLab rebases by a setting of the project."""
    options = () if method is None else (f"mergeMethod: {method}",)
    expected = {**sent, "gitea": {"Do": method or "merge"}}.get(server.kind)
    if expected is None:
        with pytest.raises(InputError, match="GitLab takes rebase from the project's settings"):
            gated(server, "merge: true", *options)
        return
    assert gated(server, "merge: true", *options) == 0
    sha = "head_commit_id" if server.kind == "gitea" else "sha"
    assert server.sent == {sha: "c" * 40, **expected}


@ON_EACH
def test_approving_leaves_the_merge_to_the_forge(server: Server, said: Said) -> None:
    server.pulls[0].checks = {"ci": "pending"}
    server.pulls[0].unreviewed = True
    for _ in range(2):
        assert gated(server, "merge: true", "approveOnly: true") == 0
    assert server.merged == []
    assert [len(each.reviews) for each in server.pulls] == [1, 0, 1]
    assert server.pulls[0].reviews[0]["commit_id"] == "a" * 40
    assert f"#1 aaaaaaaaaaaa approved: {OPEN}" in said()
