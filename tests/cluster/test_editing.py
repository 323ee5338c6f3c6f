"""The windows stay editable: an edit is in force as soon as it is applied, also while closed."""

from datetime import timedelta

import pytest
from environment import (
    APPS,
    CLOSED,
    INTERVAL,
    OPEN,
    PARENT,
    Environment,
    eventually,
    note,
    throughout,
)
from lab.processes import pace
from when import far_window, soon, wall

NO_RULES = "- {op: replace, path: /rules, value: []}"


def test_an_edit_while_closed_is_in_force_at_once(env: Environment) -> None:
    """Twelve hours before the next edge, a window that is open now opens with its commit."""
    env.begin_closed()
    env.release("2")
    now = {"opens": "daily 00:00", "closes": "24:00"}
    env.policy({"windows": {"later": far_window().spec, "now": now}})
    note("from the commit of an edit to its effect", env.eventually_open())
    env.eventually_applied("2")
    env.closes()


@pytest.mark.long
def test_the_layout_that_locks_itself(env: Environment) -> None:
    """Windows delivered by their own target wait for themselves: hence the finding."""
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml"]})
    env.begin()
    env.write("windows.yaml", env.policy_text())
    env.render("windows.yaml", "apps/windows")
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml", "windows"]})
    env.commit("Deliver the windows by what they gate")
    env.eventually_closed()
    env.write("windows.yaml", env.policy_text(OPEN))
    env.render("windows.yaml", "apps/windows")
    env.commit("Open it, in vain")
    throughout(60, "apps stays closed", env.closed)


@pytest.mark.long
def test_an_override_opens_and_expires(env: Environment) -> None:
    """Committed while closed it opens at once, and at its end it closes by itself."""
    env.begin_closed()
    ends = soon(90)
    urgent = {"state": "Open", "ends": wall(ends), "reason": "Patch the ingress"}
    env.opens({**CLOSED, "overrides": {"urgent": urgent}})
    env.eventually_closed()
    env.eventually_says("closed")


@pytest.mark.long
def test_a_freeze_closes_and_ends(env: Environment) -> None:
    """Committed while open it closes when it begins, and says why."""
    env.begin()
    starts = soon(90)
    ends = starts + timedelta(minutes=pace())
    freeze = {"starts": wall(starts), "ends": wall(ends), "reason": "Year-end change freeze"}
    env.delivers({"outsideWindows": "Open", "freezes": {"soon": freeze}})
    assert env.open()
    env.eventually_closed()
    assert "Year-end change freeze" in str(env.target()["metadata"]["annotations"])
    env.eventually_open()


def test_state_holds_by_hand(env: Environment) -> None:
    """`state` outranks the windows, in both directions; `Scheduled` hands back to them."""
    env.begin()
    always = {"always": {"opens": "daily 00:00", "closes": "24:00"}}
    env.closes({"state": "Closed", "windows": always})
    env.opens({"state": "Scheduled", "windows": always})
    env.closes()
    env.opens()


def test_a_delivery_that_waits_is_not_blocked(env: Environment) -> None:
    """`wait: true` on what delivers the windows: it is ready."""
    env.begin()
    env.api.patch("kustomizations", env.name, PARENT, {"spec": {"wait": True, "timeout": "30s"}})
    targets = [{"kind": "Kustomization", "names": [APPS, "absent"], "mustExist": False}]
    env.delivers({**CLOSED, "targets": targets})
    assert env.closed()
    throughout(1.5 * INTERVAL, "the parent is ready", lambda: env.ready(PARENT) != "False")


def test_a_delivery_that_waits_is_not_red_for_what_heals(env: Environment) -> None:
    """The apply Job is refused everything. Nothing of it remains but that it is complete."""
    env.begin()
    env.api.patch("kustomizations", env.name, PARENT, {"spec": {"wait": True, "timeout": "10m"}})
    policy = {**CLOSED, "interval": "1m"}
    nothing = {"target": {"kind": "Role", "name": "windows-gate"}, "patch": NO_RULES}
    env.write(
        "cluster/kustomization.yaml", {"resources": [*env.listed, "windows"], "patches": [nothing]}
    )
    env.write("windows.yaml", env.policy_text(policy))
    env.render("windows.yaml", "cluster/windows")
    env.commit("Set windows whose account may do nothing")
    env.eventually_delivered()
    assert env.ready(PARENT) != "False"
    assert env.open()
    [at_once] = [
        job for job in env.api.items("jobs", env.name) if "-apply-" in job["metadata"]["name"]
    ]
    assert [each["type"] for each in at_once["status"]["conditions"] if each["status"] == "True"][
        -1
    ] == "Complete"
    assert any(line.get("action") == "LeftToNextRun" for line in env.log("windows-apply-*"))
    env.include("windows")
    env.commit("Give the account its rights")
    env.eventually_closed()
    env.eventually_delivered()
    eventually("it is ready", lambda: env.ready(PARENT) == "True")
    throughout(2.5 * INTERVAL, "it stays ready", lambda: env.ready(PARENT) != "False")


def test_an_image_that_a_layer_above_sets_replaces_the_job(env: Environment) -> None:
    """A Job cannot be changed, and its name knows nothing of the layer: Flux's annotation."""
    env.begin_closed()
    image = {"name": "docker.io/library/python", "newName": "registry.example/python"}
    env.write("cluster/kustomization.yaml", {"resources": env.listed, "images": [image]})
    env.commit("Take the image from our own registry")
    env.eventually_delivered()
    assert all("registry.example" in str(job["spec"]) for job in env.api.items("jobs", env.name))
