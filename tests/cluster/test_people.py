"""People and windows: what a person decided stays, and nobody opens by mistake."""

from datetime import timedelta

import proposed
import pytest
from environment import APPS, CLOSED, Environment, eventually, note, throughout
from when import Window, sleep_until, window

from krm_windows.gate.annotations import HOLD

PAGE = "docs/how-to/when-something-is-wrong.md"
[HOLD_IT] = proposed.commands(PAGE, "kubectl patch")
[RELEASE_IT] = proposed.commands(PAGE, "kubectl annotate")


@pytest.mark.long
def test_a_suspension_by_a_person_survives_windows(env: Environment) -> None:
    """Two windows open and close over it; it is said in the log, and never lifted."""
    env.begin()
    env.shell(f"flux suspend kustomization {APPS} -n flux-system")
    first = window(after=30)
    second = Window(first.closes + timedelta(minutes=1), first.closes + timedelta(minutes=2))
    env.policy({"windows": {"first": first.spec, "second": second.spec}})
    left = "apps stays suspended, without the annotation"
    throughout(60, left, lambda: env.suspended() and not env.annotated())
    sleep_until(second.closes)
    throughout(20, left, lambda: env.suspended() and not env.annotated())
    env.eventually_says("left closed by a person")


@pytest.mark.long
def test_a_hold_set_while_closed_is_kept(env: Environment) -> None:
    """It stays shut through a window, and opens in the next run after the hold is released."""
    env.begin()
    opening = window(length=3)
    env.closes({"interval": "1m", "windows": {"next": opening.spec}})
    env.shell(HOLD_IT)
    env.reconcile_delivery()
    assert env.hold()
    sleep_until(opening.opens)
    env.eventually_says("the press is being repaired")
    throughout(20, "apps stays closed", env.suspended)
    env.shell(RELEASE_IT)
    env.reconcile_delivery()
    env.eventually_open()


@pytest.mark.long
def test_a_hold_of_an_open_target(env: Environment) -> None:
    """A release while the policy is closed lets nothing in: what waits is not applied."""
    env.begin()
    env.delivers({"interval": "1m", "outsideWindows": "Open", "windows": {}})
    env.shell(HOLD_IT)
    env.release("2")
    env.reconcile_delivery()
    assert env.suspended()
    env.eventually_says("the press is being repaired")
    env.policy({**CLOSED, "interval": "1m"})
    eventually("the gate has noted the suspension", env.annotated)
    env.shell(RELEASE_IT)
    env.reconcile_delivery()
    env.waits("1", intervals=1.2)
    assert env.closed()
    env.opens({"interval": "1m", "outsideWindows": "Open", "windows": {}})
    env.eventually_applied("2")


def test_a_hold_by_plain_kubectl(env: Environment) -> None:
    """What people do by the kubectl that they have: without the page's field manager it is lost."""
    env.begin()
    env.delivers({"interval": "1m", "outsideWindows": "Open", "windows": {}})
    env.kubectl("annotate", "kustomization", APPS, f"{HOLD}=anna: the press is being repaired")
    env.reconcile_delivery()
    assert env.hold() is None
    env.shell(HOLD_IT)
    env.reconcile_delivery()
    assert (env.hold(), env.suspended()) == ("anna: the press is being repaired", True)
    env.shell(RELEASE_IT)
    env.reconcile_delivery()
    env.eventually_open()


def test_what_nobody_gates(env: Environment) -> None:
    """A target without a policy is held all the same; the commands of the page end that."""
    env.begin()
    env.shell(HOLD_IT)
    env.reconcile_delivery()
    assert env.suspended()
    env.shell(RELEASE_IT)
    env.reconcile_delivery()
    assert (env.hold(), env.suspended()) == (None, True)
    [resume] = proposed.commands(PAGE, "flux resume")
    env.shell(resume)
    env.reconcile_delivery()
    assert not env.suspended()


def test_flux_suspend_and_resume(env: Environment) -> None:
    """As the flux CLI does it, on a target that Flux delivers: both last."""
    env.begin()
    env.delivers({"interval": "1m", "outsideWindows": "Open", "windows": {}})
    [suspend] = proposed.commands(PAGE, "flux suspend")
    [resume] = proposed.commands(PAGE, "flux resume")
    env.shell(suspend)
    env.reconcile_delivery()
    env.eventually_says("left closed by a person")
    assert env.suspended()
    env.shell(resume)
    env.reconcile_delivery()
    assert env.open()


def test_a_resume_while_closed_is_closed_again(env: Environment) -> None:
    """The next run closes it again, and says that a person had resumed it."""
    env.begin_closed({**CLOSED, "interval": "1m"})
    env.shell(f"flux resume kustomization {APPS} -n flux-system")
    note("open where closed was wanted: resumed by a person, interval 1m", env.eventually_closed())
    env.eventually_says("closed again: a person had resumed it")


def test_suspending_the_parent_changes_nothing(env: Environment) -> None:
    """The Jobs are in the cluster: they go on where nothing is delivered any more."""
    env.begin()
    opening = window()
    env.closes({"windows": {"next": opening.spec}})
    env.suspend_delivery()
    env.opens_with(opening)
