"""People and windows: what a person decided stays, and nobody opens by mistake."""

from datetime import timedelta

import pytest
from telling import APPS, Story, Window, far_window, note, sleep_until, throughout, window

HOLD = "krm-windows.dev/hold"


@pytest.mark.long
def test_a_suspension_by_a_person_survives_windows(story: Story) -> None:
    """Two windows open and close over it; it is said in the log, and never lifted."""
    story.begin()
    suspended = {"spec": {"suspend": True}}
    story.api.patch("kustomizations", story.name, APPS, suspended, manager="flux")
    first = window(after=30)
    second = Window(first.closes + timedelta(minutes=1), first.closes + timedelta(minutes=2))
    story.policy({"windows": {"first": first.spec, "second": second.spec}})
    throughout(
        60, "apps stays suspended, unmarked", lambda: story.suspended() and not story.marked()
    )
    sleep_until(second.closes)
    throughout(
        20, "apps stays suspended, unmarked", lambda: story.suspended() and not story.marked()
    )
    story.eventually_says("left closed by a person")


@pytest.mark.long
def test_a_hold_set_while_closed_is_kept(story: Story) -> None:
    """It stays shut through a window, and opens in the next look after the hold is gone."""
    story.begin()
    opening = window(length=3)
    story.policy({"interval": "1m", "windows": {"next": opening.spec}})
    story.eventually_closed()
    hold = {"metadata": {"annotations": {HOLD: "anna: the press is being repaired"}}}
    story.api.patch("kustomizations", story.name, APPS, hold)
    sleep_until(opening.opens)
    story.eventually_says("held: anna: the press is being repaired")
    throughout(20, "apps stays closed", story.suspended)
    story.api.patch("kustomizations", story.name, APPS, {"metadata": {"annotations": {HOLD: None}}})
    story.eventually_open()


def test_a_resume_while_closed_is_closed_again(story: Story) -> None:
    """The next look closes it again, and says that a person had resumed it."""
    story.begin()
    story.policy({"interval": "1m", "windows": {"later": far_window().spec}})
    story.eventually_closed()
    story.api.patch(
        "kustomizations", story.name, APPS, {"spec": {"suspend": False}}, manager="flux"
    )
    note(
        "open where closed was wanted: resumed by a person, interval 1m", story.eventually_closed()
    )
    story.eventually_says("a person resumed it: closed")


def test_suspending_the_parent_changes_nothing(story: Story) -> None:
    """The Jobs are in the cluster: they go on where nothing is delivered any more."""
    story.begin()
    opening = window()
    story.policy({"windows": {"next": opening.spec}})
    story.eventually_closed()
    story.suspend_delivery()
    sleep_until(opening.opens)
    story.eventually_open()
