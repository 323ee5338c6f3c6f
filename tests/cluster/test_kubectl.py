"""The main test with the actuator `Kubectl`: the real kubectl, and no program of ours."""

import pytest
from environment import Environment, eventually, kubectl_policy, throughout
from when import STEADY_ZONE, Spec, far_window, minute, sleep_until, wall, window


@pytest.mark.long
def test_kubectl_opens_and_closes(env: Environment) -> None:
    """The edges patch, as a manager that the parent does not take back."""
    env.begin()
    opening = window(after=70, length=3, zone=STEADY_ZONE)
    env.delivers(kubectl_policy(opening))
    env.job("close", "windows-close-next")
    eventually("apps is closed", env.suspended)
    env.release("2")
    env.waits("1")
    sleep_until(opening.opens)
    eventually("apps is open", lambda: not env.suspended())
    env.eventually_applied("2")
    sleep_until(opening.closes)
    eventually("apps is closed", env.suspended)
    env.release("3")
    env.waits("2")


@pytest.mark.long
def test_from_gate_to_kubectl_while_closed(env: Environment) -> None:
    """The gate's annotation stays behind, and means nothing but to the gate."""
    far = far_window(STEADY_ZONE)
    windows: Spec = {"timeZone": str(far.zone), "windows": {"next": far.spec}}
    env.begin()
    env.closes(windows)
    env.delivers(kubectl_policy(far))
    throughout(10, "apps stays closed", env.closed)
    env.job("open", "windows-open-next")
    eventually("apps is resumed", lambda: not env.suspended())
    assert env.annotated()
    env.policy(windows)
    env.eventually_says("closed again: a person had resumed it")
    env.opens({**windows, "state": "Open"})


def test_from_kubectl_to_gate_while_closed(env: Environment) -> None:
    """Without the annotation it is a person's to the gate, unless `adoptUntil` says otherwise."""
    far = far_window(STEADY_ZONE)
    windows: Spec = {"timeZone": str(far.zone), "windows": {"next": far.spec}}
    env.begin()
    env.delivers(kubectl_policy(far))
    env.job("close", "windows-close-next")
    eventually("apps is closed", env.suspended)
    env.policy({**windows, "state": "Open"})
    env.eventually_says("left closed by a person")
    env.opens({**windows, "state": "Open", "adoptUntil": wall(minute(3600), STEADY_ZONE)})
