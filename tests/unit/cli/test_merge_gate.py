"""`krm-windows merge-gate`, against forges of ours on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from calls import POLICY, program, spec
from forges import KINDS, TOKEN, Pull, Server, configured, serving

from krm_windows.cli import merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.system.errors import WorkspaceError

# In Berlin it is Thursday, 17:00: closed until Monday.
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
MONDAY = datetime(2026, 12, 21, 7, 0, tzinfo=UTC)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A forge of each kind, with a change that is gated and one that is not."""
    monkeypatch.setenv(f"{request.param.upper()}_TOKEN", TOKEN)
    pulls = (Pull(1, "a" * 40, ("apps/web.yaml",)), Pull(2, "b" * 40, ("docs/a.md",)))
    with serving(request.param, *pulls) as found:
        found.is_checked_out(monkeypatch)
        yield found


@pytest.fixture(autouse=True)
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a policy."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def gated(server: Server, *options: str, at: datetime = THURSDAY) -> ExitCode:
    """Call the command."""
    where = ("--forge", server.kind, "--repo", "acme/fleet", "--url", server.address)
    arguments = ["merge-gate", "policy.yaml", *where, *configured(options)]
    clock = Clock(lambda: at)
    return merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments), clock)


def states(server: Server) -> dict[str, str]:
    """Return the last state of each commit, by its first letter."""
    return {sha[0]: server.latest(sha)["state"] for sha in server.statuses}


def test_changes_wait_by_path(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """Each head has a status, and a line says so; the second time there is nothing to say."""
    assert gated(server, "paths: [apps/*]", "link: https://windows.test/") == 0
    assert states(server) == {"a": "pending", "b": "success"}
    assert server.latest("a" * 40)["target_url"] == "https://windows.test/"
    said = capsys.readouterr()
    assert said.out == (
        "#1 aaaaaaaaaaaa pending: closed until Mon 2026-12-21 08:00 Europe/Berlin: "
        "flux-system/week (no window is open)\n"
        "#2 bbbbbbbbbbbb success: changes nothing that a window gates\n"
    )
    assert said.err == ""
    assert gated(server, "paths: [apps/*]") == 0
    assert capsys.readouterr().out == ""
    assert gated(server, "paths: [apps/*]", at=MONDAY) == 0
    assert states(server) == {"a": "success", "b": "success"}


def test_a_token_comes_from_a_file(
    server: Server, policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a pipe, so that it is in no environment; it wins over the one that is."""
    (policy / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv(f"{server.kind.upper()}_TOKEN", "another")
    assert gated(server, "paths: [apps/*]", "--token-file", "token") == 0
    assert states(server) == {"a": "pending", "b": "success"}
    (policy / "token").write_text("\n")
    with pytest.raises(WorkspaceError, match=r"no token: .*--token-file"):
        gated(server, "paths: [apps/*]", "--token-file", "token")


def test_a_dry_run_says_what_would_be(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    """And sets nothing."""
    assert gated(server, "paths: [apps/*]", "--dry-run") == 0
    assert server.statuses == {}
    assert "#1 aaaaaaaaaaaa would be pending: closed until" in capsys.readouterr().out


def test_a_right_that_is_missing_fails_and_says_so(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each change that it is missing for; foreign words steer no terminal."""

    def before(method: str, _path: str) -> None:
        if method == "POST":
            words = f"\x1b[31mnot with {TOKEN}\n::error::x"
            server.troubles = [(403, {}, {"message": words})]

    server.before = before
    assert gated(server, "paths: [apps/*]") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 2
    assert "(does the token have the permission?)" in said.err
    assert TOKEN not in said.err
    assert "\x1b" not in said.err


def test_a_push_while_it_runs_is_not_let_through(server: Server) -> None:
    """By harmless files and back again: what is said of a commit is true of that commit."""
    first, second = server.pulls

    def before(_method: str, path: str) -> None:
        # The head is the first commit only where it is asked for.
        is_list = path.endswith(("/pulls", "/merge_requests"))
        first.sha, first.files = ("a" * 40, ("apps/web.yaml",)) if is_list else ("b" * 40, ())

    server.compared = {"a" * 40: ("apps/web.yaml",), "b" * 40: second.files}
    server.before = before
    assert gated(server, "paths: [apps/*]") == 0
    assert states(server) == {"a": "pending", "b": "success"}


# More than one page of a list, and ten of them.
@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_changes_are_asked_for_at_the_same_time(server: Server, count: int) -> None:
    """So many at once as are allowed, and no more; each has its status."""
    server.pulls = [
        Pull(number, f"{number:040x}", ("apps/a",) if number % 2 else ("docs/a",))
        for number in range(count)
    ]
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
    assert gated(server, "paths: [apps/*]", "jobs: 4") == 0
    found = [server.latest(each.sha)["state"] for each in server.pulls]
    assert found == ["success", "pending"] * (count // 2)
    assert max(most) == 4


def test_a_schedule_meets_every_edge(tmp_path: Path) -> None:
    """It is YAML of a workflow, in UTC, of all policies, each time once."""
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


@pytest.mark.parametrize(
    "options", [(), ("--forge", "github"), ("--forge", "github", "--repo", "acme")]
)
def test_a_call_without_a_repository_is_wrong(options: tuple[str, ...]) -> None:
    """It says what to give."""
    arguments = ["merge-gate", "policy.yaml", *options]
    with pytest.raises(InputError, match="give --forge and --repo"):
        merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments))
