"""People and windows: what a person decided stays, and nobody opens by mistake."""

from datetime import timedelta

import pytest
from environment import APPS, Environment, Window, far_window, note, sleep_until, throughout, window

HOLD = "krm-windows.dev/hold"


@pytest.mark.long
def test_a_suspension_by_a_person_survives_windows(env: Environment) -> None:
    """Two windows open and close over it; it is said in the log, and never lifted."""
    env.begin()
    suspended = {"spec": {"suspend": True}}
    env.api.patch("kustomizations", env.name, APPS, suspended, manager="flux")
    first = window(after=30)
    second = Window(first.closes + timedelta(minutes=1), first.closes + timedelta(minutes=2))
    env.policy({"windows": {"first": first.spec, "second": second.spec}})
    throughout(
        60,
        "apps stays suspended, without the annotation",
        lambda: env.suspended() and not env.annotated(),
    )
    sleep_until(second.closes)
    throughout(
        20,
        "apps stays suspended, without the annotation",
        lambda: env.suspended() and not env.annotated(),
    )
    env.eventually_says("left closed by a person")


@pytest.mark.long
def test_a_hold_set_while_closed_is_kept(env: Environment) -> None:
    """It stays shut through a window, and opens in the next run after the hold is gone."""
    env.begin()
    opening = window(length=3)
    env.policy({"interval": "1m", "windows": {"next": opening.spec}})
    env.eventually_closed()
    hold = {"metadata": {"annotations": {HOLD: "anna: the press is being repaired"}}}
    env.api.patch("kustomizations", env.name, APPS, hold)
    sleep_until(opening.opens)
    env.eventually_says("held: anna: the press is being repaired")
    throughout(20, "apps stays closed", env.suspended)
    env.api.patch("kustomizations", env.name, APPS, {"metadata": {"annotations": {HOLD: None}}})
    env.eventually_open()


def test_a_resume_while_closed_is_closed_again(env: Environment) -> None:
    """The next run closes it again, and says that a person had resumed it."""
    env.begin()
    env.policy({"interval": "1m", "windows": {"later": far_window().spec}})
    env.eventually_closed()
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"suspend": False}}, manager="flux")
    note("open where closed was wanted: resumed by a person, interval 1m", env.eventually_closed())
    env.eventually_says("closed again: a person had resumed it")


def test_suspending_the_parent_changes_nothing(env: Environment) -> None:
    """The Jobs are in the cluster: they go on where nothing is delivered any more."""
    env.begin()
    opening = window()
    env.policy({"windows": {"next": opening.spec}})
    env.eventually_closed()
    env.suspend_delivery()
    sleep_until(opening.opens)
    env.eventually_open()
