"""`krm-windows state --wait`: what a pipeline waits for, with a clock that the tests turn."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY, spec

from krm_windows.cli import sleeping, state
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
    at: datetime
    slept: list[float] = field(default_factory=list)
    # After so many sleeps the clock is that much ahead, or behind.
    jumps: dict[int, timedelta] = field(default_factory=dict)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert len(self.slept) < 10_000, "it sleeps forever"
        self.at += timedelta(seconds=seconds) + self.jumps.get(len(self.slept), timedelta())

    def wait(self, path: Path, *options: str, policy: str = POLICY) -> ExitCode:
        (path / "policy.yaml").write_text(policy)
        call = ["state", str(path / "policy.yaml"), "--wait", *options]
        clock = Clock(lambda: self.at, self.sleep)
        return state.run(parser(COMMANDS, call).parse_args(call), clock)


@pytest.mark.parametrize(
    ("begins", "until", "ends"),
    [(WEDNESDAY, "closed", THURSDAY), (THURSDAY + timedelta(seconds=59.5), "open", MONDAY)],
)
def test_a_wait_ends_at_the_edge(
    begins: datetime, until: str, ends: datetime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hands = Hands(begins)
    assert hands.wait(tmp_path, until) == 0
    assert hands.at == ends
    assert max(hands.slept) <= sleeping.LONGEST.total_seconds()
    said = capsys.readouterr()
    assert f"waiting until it should be {until}" in said.err
    assert f"{ends + timedelta(hours=1):%a %Y-%m-%d %H:%M}" in said.err
    assert f"flux-system/week should be {until}: " in said.out.splitlines()[0]
    # What holds already is not waited for.
    assert hands.wait(tmp_path, until, "--timeout", "2h") == 0
    assert (hands.at, capsys.readouterr().err) == (ends, "")


def test_a_wait_that_takes_too_long_exits_124(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hands = Hands(THURSDAY)
    assert hands.wait(tmp_path, "open", "--timeout", "2h") == 124
    assert hands.at == THURSDAY + timedelta(hours=2)
    said = capsys.readouterr()
    ended = "flux-system/week should be closed until Mon 2026-12-21 08:00"
    assert said.out == ""
    why = "(Europe/Berlin), as no window is open"
    assert said.err.endswith(f"\nkrm-windows: timed out: {ended} {why}\n")
    assert Hands(MONDAY - timedelta(hours=2)).wait(tmp_path, "open", "--timeout", "2h") == 0


@pytest.mark.parametrize("jump", [timedelta(days=2), timedelta(hours=-5)])
def test_a_clock_that_jumps_is_followed(jump: timedelta, tmp_path: Path) -> None:
    """A laptop was suspended, or somebody set the clock: only what it says now counts."""
    hands = Hands(WEDNESDAY, jumps={3: jump})
    assert hands.wait(tmp_path, "closed") == 0
    assert hands.at == max(THURSDAY, WEDNESDAY + timedelta(minutes=6) + jump)


def test_what_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    """A pipeline would hang until somebody kills it; with a time-out it ends with that."""
    never = spec(state="Closed")
    with pytest.raises(InputError, match="does not change for more than 400 days"):
        Hands(WEDNESDAY).wait(tmp_path, "open", policy=never)
    assert Hands(WEDNESDAY).wait(tmp_path, "open", "--timeout", "1h", policy=never) == 124
