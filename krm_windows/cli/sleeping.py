"""Sleeping until an instant: what commands do that wait for an edge."""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from krm_windows.cli import times
from krm_windows.cli.inputs import UsageError

LONGEST = timedelta(minutes=2)
"""At once: the clock of a laptop that was suspended, or that was set, is then read again."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What tells the time, and what passes it: a number of seconds."""

    now: Callable[[], datetime] = times.now
    sleep: Callable[[float], None] = time.sleep

    def sleep_towards(self, *instants: datetime | None) -> None:
        """Sleep until the first of some instants, or for a while; None is an instant that is far.

        Whoever calls it looks at the clock again.
        """
        at = self.now()
        lengths = [each - at for each in instants if each is not None]
        # Below zero where the clock has passed an instant since it was last looked at.
        self.sleep(max(min([LONGEST, *lengths]).total_seconds(), 0.0))


def check(arguments: argparse.Namespace) -> None:
    """Refuse a wait for nothing, or for another instant than now."""
    if arguments.timeout is not None and not arguments.wait:
        raise UsageError("--timeout needs --wait")
    if arguments.wait and arguments.at is not None:
        raise UsageError("--wait waits for what holds now, so it cannot be used with --at")


REAL = Clock()
"""The clock of this machine."""
