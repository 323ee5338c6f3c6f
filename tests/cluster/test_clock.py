"""A node whose clock is wrong: it opens nothing, closes what should be closed, and says so.

Nodes here have the machine's clock. So the gate runs beside the cluster, as in a Pod, its clock
turned by `faketime`.
"""

import json
from datetime import timedelta

import pytest
from environment import APPS, Environment, eventually
from lab.api import Object
from lab.processes import pace
from test_events import reasons
from test_status import status
from when import Window, minute, since, sleep_until

from krm_windows.gate.annotations import APART

AHEAD = 300  # seconds, of the node's clock


@pytest.mark.long
def test_a_clock_that_is_ahead_opens_nothing(env: Environment) -> None:
    """By its clock the window is open, four minutes early."""
    env.begin()
    opens = minute(200 * pace())
    opening = Window(opens, opens + timedelta(hours=1))
    env.closes({"windows": {"next": opening.spec}, "events": True})
    sleep_until(opens - timedelta(seconds=AHEAD - 60))
    code, lines = run_at(env, AHEAD)
    assert since(opens) < 0, "the machine was too busy to run before the edge"
    assert env.closed()
    assert_it_says_so(env, code, lines, AHEAD)
    assert "WindowNotOpened" in reasons(env)
    code, found, _ = status(env)
    [target] = found["targets"]
    policy = {"kind": "Policy", "policy": f"{env.name}/windows"}
    by = policy | {"reason": APART, "cause": "ClockSkew"}
    assert (code, target["suspendedBy"]) == (1, by)
    env.eventually_open()
    assert since(opens) > 0
    # An Event is written after the target is patched.
    eventually("one Event says so", lambda: reasons(env).count("WindowOpened") == 1)


@pytest.mark.parametrize("seconds", [AHEAD, -AHEAD])
def test_a_clock_that_is_wrong_closes(env: Environment, seconds: int) -> None:
    """What is open and should not be is closed by such a run, too; it fails all the same."""
    env.begin_closed()
    env.suspend_delivery()
    env.shell(f"flux resume kustomization {APPS} -n flux-system")
    eventually("it is resumed", lambda: not env.suspended())
    code, lines = run_at(env, seconds)
    assert env.closed()
    assert_it_says_so(env, code, lines, seconds)


def run_at(env: Environment, seconds: int) -> tuple[int, list[Object]]:
    """Only its wall clock is turned: by the other one a node measures how long something takes."""
    with env.run_beside() as run:
        process = run("env", "DONT_FAKE_MONOTONIC=1", "faketime", "-f", f"{seconds:+}s")
        logged, _ = process.communicate()
    return process.returncode, [
        json.loads(line) for line in logged.splitlines() if line.startswith("{")
    ]


def assert_it_says_so(env: Environment, code: int, lines: list[Object], seconds: int) -> None:
    """The log mentions no other failure."""
    skewed = lines[-1]["skewSeconds"]
    assert (code, abs(skewed - seconds) <= 2) == (1, True), (code, skewed, env.name)
    words = f"nothing was opened: this node's clock is {skewed:+} s from the API server's"
    assert [line["error"] for line in lines if "error" in line and "target" not in line] == [words]
