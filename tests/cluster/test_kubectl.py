"""The actuator `Kubectl`: the main story with the real kubectl and no program of ours in the cluster."""

import pytest
from telling import Story, eventually, sleep_until, window


@pytest.mark.long
def test_kubectl_opens_and_closes(story: Story) -> None:
    """The edges patch, as a manager that the parent does not take back; between them nothing looks."""
    story.begin()
    opening = window(after=50, length=3)
    story.policy({"actuator": {"type": "Kubectl"}, "interval": None, "windows": {"next": opening.spec}})
    story.eventually_delivered()
    story.kubectl("create", "job", "close", "--from=cronjob/windows-close-next")
    eventually("apps is closed", story.suspended)
    story.release("2")
    story.waits("1")
    sleep_until(opening.opens)
    eventually("apps is open", lambda: not story.suspended(), within=30)
    story.eventually_applied("2", within=20)
    sleep_until(opening.closes)
    eventually("apps is closed", story.suspended, within=30)
    story.release("3")
    story.waits("2")
