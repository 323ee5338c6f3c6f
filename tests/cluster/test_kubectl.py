"""The actuator `Kubectl`: the main story with the real kubectl and no program of ours in the cluster."""

import pytest
from telling import (
    Spec,
    Story,
    eventually,
    far_window,
    minute,
    sleep_until,
    throughout,
    wall,
    window,
)


@pytest.mark.long
def test_kubectl_opens_and_closes(story: Story) -> None:
    """The edges patch, as a manager that the parent does not take back; between them nothing looks."""
    story.begin()
    opening = window(after=70, length=3)
    story.policy(
        {"actuator": {"type": "Kubectl"}, "interval": None, "windows": {"next": opening.spec}}
    )
    story.eventually_delivered()
    story.kubectl("create", "job", "close", "--from=cronjob/windows-close-next")
    eventually("apps is closed", story.suspended)
    story.release("2")
    story.waits("1")
    sleep_until(opening.opens)
    eventually("apps is open", lambda: not story.suspended())
    story.eventually_applied("2")
    sleep_until(opening.closes)
    eventually("apps is closed", story.suspended)
    story.release("3")
    story.waits("2")


@pytest.mark.long
def test_from_gate_to_kubectl_while_closed(story: Story) -> None:
    """It stays closed until the next opening edge; the gate's mark stays behind, and means nothing but to the gate."""
    windows: Spec = {"windows": {"next": far_window().spec}}
    story.begin()
    story.policy(windows)
    story.eventually_closed()
    story.policy({**windows, "actuator": {"type": "Kubectl"}, "interval": None})
    story.eventually_delivered()
    throughout(10, "apps stays closed", story.closed)
    story.kubectl("create", "job", "open", "--from=cronjob/windows-open-next")
    eventually("apps is resumed", lambda: not story.suspended())
    assert story.marked()
    story.policy(windows)
    story.eventually_says("a person resumed it: closed")
    story.policy({**windows, "state": "Open"})
    story.eventually_open()


def test_from_kubectl_to_gate_while_closed(story: Story) -> None:
    """What kubectl closed carries no mark: the gate takes it for a person's, unless `adoptUntil` says otherwise."""
    windows: Spec = {"windows": {"next": far_window().spec}}
    story.begin()
    story.policy({**windows, "actuator": {"type": "Kubectl"}, "interval": None})
    story.eventually_delivered()
    story.kubectl("create", "job", "close", "--from=cronjob/windows-close-next")
    eventually("apps is closed", story.suspended)
    story.policy({**windows, "state": "Open"})
    story.eventually_says("left closed by a person")
    story.policy({**windows, "state": "Open", "adoptUntil": wall(minute(3600))})
    story.eventually_open()
