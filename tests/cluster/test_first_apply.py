"""A target that was never applied: a new cluster starts although it is closed, unless it is told to wait."""

from telling import APPS, INTERVAL, Story, eventually, far_window, throughout
from test_policies import CLOSED


def test_a_new_cluster_comes_up_although_it_is_closed(story: Story) -> None:
    """`Allow`: everything is delivered at once, closed; the first version is applied, then the next look closes."""
    story.policy({**CLOSED, "interval": "1m"}, commit=False)
    story.begin(apply=False)
    story.eventually_applied("1")
    story.eventually_closed()
    story.release("2")
    story.waits("1")


def test_a_target_that_is_created_again_while_closed(story: Story) -> None:
    """It is new: it is applied once more, and closed again by the next look."""
    story.begin()
    story.policy({**CLOSED, "interval": "1m"})
    story.eventually_closed()
    story.release("2")
    story.eventually_delivered()
    story.api.delete("kustomizations", story.name, APPS)
    story.eventually_applied("2")
    story.eventually_closed()


def test_wait_keeps_a_new_target_closed(story: Story) -> None:
    """`Wait`, with `suspend: true` in Git and the parent's `spec.ignore`: nothing is applied before the window."""
    ignore = {"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}
    waiting = {"firstApply": "Wait", "windows": {"later": far_window().spec}}
    story.policy(waiting, commit=False)
    story.begin(apply=False, suspend=True)
    story.api.patch("kustomizations", story.name, "fleet", {"spec": {"ignore": [ignore]}})
    eventually(
        "it is there", lambda: story.api.find("kustomizations", story.name, APPS) is not None
    )
    story.eventually_closed()
    throughout(2 * INTERVAL, "nothing is applied", lambda: story.version() is None)
    story.policy({**waiting, "state": "Open"})
    story.eventually_open()
    story.eventually_applied("1")
