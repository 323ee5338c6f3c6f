"""`krm-windows state --wait`: what a pipeline waits for, with a clock that the tests turn."""

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY, spec

from krm_windows.cli import main, sleeping, state
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

# In Berlin it is Wednesday, 12:00: open until Thursday, 17:00; after that closed until Monday.
WEDNESDAY = datetime(2026, 12, 16, 11, 0, tzinfo=UTC)
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
MONDAY = datetime(2026, 12, 21, 7, 0, tzinfo=UTC)


@dataclass
class Hands:
    """The hands of a clock: sleeping turns them, and some sleeps take longer than they should."""

    at: datetime
    slept: list[float] = field(default_factory=list)
    # After so many sleeps the clock is that much ahead, or behind.
    jumps: dict[int, timedelta] = field(default_factory=dict)

    def now(self) -> datetime:
        """Read it."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Turn it."""
        self.slept.append(seconds)
        assert len(self.slept) < 10_000, "it sleeps forever"
        self.at += timedelta(seconds=seconds) + self.jumps.get(len(self.slept), timedelta())

    @property
    def clock(self) -> Clock:
        """What the command takes."""
        return Clock(self.now, self.sleep)


def waited(path: Path, hands: Hands, *options: str, policy: str = POLICY) -> ExitCode:
    """Wait by the command, from the arguments on."""
    (path / "policy.yaml").write_text(policy)
    call = ["state", str(path / "policy.yaml"), *options]
    return state.run(parser(COMMANDS, call).parse_args(call), hands.clock)


@pytest.mark.parametrize(
    ("begins", "until", "ends"),
    [
        (WEDNESDAY, "closed", THURSDAY),
        (THURSDAY, "open", MONDAY),
        (THURSDAY + timedelta(seconds=59.5), "open", MONDAY),
    ],
)
def test_a_wait_ends_at_the_edge(
    begins: datetime,
    until: str,
    ends: datetime,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not before it and not after; a line says that it waits, and then the state is shown."""
    hands = Hands(begins)
    assert waited(tmp_path, hands, "--wait", until) == 0
    assert hands.at == ends
    assert max(hands.slept) <= sleeping.LONGEST.total_seconds()
    said = capsys.readouterr()
    assert f"waiting until it should be {until}" in said.err
    assert f"{ends.astimezone(UTC) + timedelta(hours=1):%a %Y-%m-%d %H:%M}" in said.err
    assert f"flux-system/week should be {until}: " in said.out.splitlines()[0]


def test_what_holds_already_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing says that it waits."""
    hands = Hands(WEDNESDAY)
    assert waited(tmp_path, hands, "--wait", "open", "--timeout", "2h") == 0
    assert hands.slept == []
    said = capsys.readouterr()
    assert "flux-system/week should be open: windows.office" in said.out
    assert said.err == ""


def test_a_wait_that_takes_too_long_exits_124(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As timeout(1) does, at the very time."""
    hands = Hands(THURSDAY)
    assert waited(tmp_path, hands, "--wait", "open", "--timeout", "2h") == 124
    assert hands.at == THURSDAY + timedelta(hours=2)
    said = capsys.readouterr()
    waits, ended = said.err.splitlines()
    assert said.out == ""
    assert waits.startswith("krm-windows: waiting until it should be open: flux-system/week")
    assert ended == (
        "krm-windows: timed out: flux-system/week should be closed until Mon 2026-12-21 08:00 (no "
        "window is open) (Europe/Berlin)"
    )


def test_an_edge_at_the_end_of_the_time_counts(tmp_path: Path) -> None:
    """What is open when the time is up was waited for in time."""
    hands = Hands(MONDAY - timedelta(hours=2))
    assert waited(tmp_path, hands, "--wait", "open", "--timeout", "2h") == 0


@pytest.mark.parametrize("jump", [timedelta(days=2), timedelta(hours=-5)])
def test_a_clock_that_jumps_is_followed(jump: timedelta, tmp_path: Path) -> None:
    """A laptop was suspended, or somebody set the clock: only what it says now counts."""
    hands = Hands(WEDNESDAY, jumps={3: jump})
    assert waited(tmp_path, hands, "--wait", "closed") == 0
    assert hands.at == max(THURSDAY, WEDNESDAY + timedelta(minutes=6) + jump)


def test_what_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    """A pipeline would hang until somebody kills it; with a time-out it ends with that."""
    policy = spec(state="Closed")
    with pytest.raises(InputError, match="does not change for more than 400 days"):
        waited(tmp_path, Hands(WEDNESDAY), "--wait", "open", policy=policy)
    hands = Hands(WEDNESDAY)
    options = ("--wait", "open", "--timeout", "1h")
    assert waited(tmp_path, hands, *options, policy=policy) == 124
    assert hands.at == WEDNESDAY + timedelta(hours=1)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
)
def test_a_signal_ends_a_wait_at_once(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """With the code that a shell gives it, and without a traceback."""
    (tmp_path / "policy.yaml").write_text(spec(state="Closed"))
    call = ["state", "policy.yaml", "--wait", "open", "--timeout", "2h"]
    command = [sys.executable, "-m", "krm_windows", *call]
    pipe = subprocess.PIPE
    # A shell that starts the tests in the background has them ignore SIGINT, and their children.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
    finally:
        signal.signal(number, before)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            # A build warns of a policy that is held by hand, and so does this.
            assert process.stderr.readline().endswith("(state-held)\n")
            # The line says that it waits now.
            assert "waiting until it should be open" in process.stderr.readline()
            process.send_signal(number)
            assert process.wait(timeout=60) == code
        finally:
            # Else its two hours would be waited for.
            process.kill()
        assert process.stdout.read() == process.stderr.read() == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--timeout", "2h"), "--timeout needs --wait"),
        (("--wait", "open", "--at", "2026-12-16"), "cannot be used with --at"),
    ],
)
def test_wrong_calls(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is waited for is what holds now."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    assert main(["state", str(tmp_path / "policy.yaml"), *options]) == ExitCode.USAGE
    assert said in capsys.readouterr().err
