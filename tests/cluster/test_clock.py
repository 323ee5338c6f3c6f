"""A node whose clock is wrong: it opens nothing, closes what should be closed, and says so.

Nodes here have the machine's clock. So a look runs beside the cluster, as in a Pod, its clock turned by `faketime`.
"""

import json
from datetime import timedelta

import pytest
from telling import (
    APPS,
    Object,
    Story,
    Window,
    eventually,
    far_window,
    minute,
    pace,
    since,
    sleep_until,
)
from test_events import reasons
from test_status import status

from krm_windows.gate.clocks import APART

AHEAD = 300  # seconds, of the node's clock


@pytest.mark.long
def test_a_clock_that_is_ahead_opens_nothing(story: Story) -> None:
    """By its clock the window is open, four minutes early: it fails and says so; a right clock opens at the edge."""
    story.begin()
    opens = minute(200 * pace())
    opening = Window(opens, opens + timedelta(hours=1))
    story.policy({"windows": {"next": opening.spec}, "events": True})
    story.eventually_closed()
    sleep_until(opens - timedelta(seconds=AHEAD - 60))
    code, lines = look_at(story, AHEAD)
    assert since(opens) < 0, "the machine was too busy to look before the edge"
    assert story.closed()
    assert_it_says_so(story, code, lines, AHEAD)
    assert "WindowNotOpened" in reasons(story)
    code, found, _ = status(story)
    [target] = found["targets"]
    assert (code, target["suspendedBy"]) == (1, f"this policy: {APART}")
    story.eventually_open()
    assert since(opens) > 0
    # An Event is written after the target is patched.
    eventually("one Event says so", lambda: reasons(story).count("WindowOpened") == 1)


@pytest.mark.parametrize("seconds", [AHEAD, -AHEAD])
def test_a_clock_that_is_wrong_closes(story: Story, seconds: int) -> None:
    """What is open and should not be is closed by such a look, too; it fails all the same."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    story.suspend_delivery()
    story.api.patch(
        "kustomizations", story.name, APPS, {"spec": {"suspend": False}}, manager="flux"
    )
    eventually("it is resumed", lambda: not story.suspended())
    code, lines = look_at(story, seconds)
    assert story.closed()
    assert_it_says_so(story, code, lines, seconds)


def look_at(story: Story, seconds: int) -> tuple[int, list[Object]]:
    """Run a look with a clock that is so far ahead; return its exit code, and what it logged.

    Only its wall clock is turned: of the other clock a node tells how long something takes.
    """
    with story.look_beside() as run:
        process = run("env", "DONT_FAKE_MONOTONIC=1", "faketime", "-f", f"{seconds:+}s")
        logged, _ = process.communicate()
    return process.returncode, [
        json.loads(line) for line in logged.splitlines() if line.startswith("{")
    ]


def assert_it_says_so(story: Story, code: int, lines: list[Object], seconds: int) -> None:
    """The look has failed, and its log says by how much, and in words; it is quiet of other trouble."""
    skewed = lines[-1]["skewSeconds"]
    assert (code, abs(skewed - seconds) <= 2) == (1, True), (code, skewed, story.name)
    way = "ahead of" if seconds > 0 else "behind"
    words = f"this node's clock is {abs(skewed)} s {way} the API server's: nothing was opened"
    assert [line["error"] for line in lines if "error" in line and "target" not in line] == [words]
