"""The windows stay editable: an edit is in force as soon as it is applied, also while closed."""

from datetime import timedelta

import pytest
from telling import (
    APPS,
    INTERVAL,
    PARENT,
    Story,
    eventually,
    far_window,
    note,
    pace,
    soon,
    throughout,
    wall,
)

NO_RULES = "- {op: replace, path: /rules, value: []}"


def test_an_edit_while_closed_is_in_force_at_once(story: Story) -> None:
    """Twelve hours before the next edge, a window that is open now opens once its commit is applied."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    story.release("2")
    story.policy(
        {
            "windows": {
                "later": far_window().spec,
                "now": {"opens": "daily 00:00", "closes": "24:00"},
            }
        }
    )
    note("from the commit of an edit to its effect", story.eventually_open())
    story.eventually_applied("2")
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()


@pytest.mark.long
def test_the_layout_that_locks_itself(story: Story) -> None:
    """Windows that are delivered by their own target wait for the window that they edit: hence the finding."""
    story.write("apps/kustomization.yaml", {"resources": ["app.yaml"]})
    story.begin()
    story.write("windows.yaml", story.policy_text({"windows": {"later": far_window().spec}}))
    story.render("windows.yaml", "apps/windows")
    story.write("apps/kustomization.yaml", {"resources": ["app.yaml", "windows"]})
    story.commit("Deliver the windows by what they gate")
    story.eventually_closed()
    story.write(
        "windows.yaml",
        story.policy_text({"state": "Open", "windows": {"later": far_window().spec}}),
    )
    story.render("windows.yaml", "apps/windows")
    story.commit("Open it, in vain")
    throughout(60, "apps stays closed", story.closed)


@pytest.mark.long
def test_an_override_opens_and_expires(story: Story) -> None:
    """Committed while closed it opens at once, and at its end it closes by itself."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    ends = soon(90)
    urgent = {"state": "Open", "ends": wall(ends), "reason": "Patch the ingress"}
    story.policy({"windows": {"later": far_window().spec}, "overrides": {"urgent": urgent}})
    story.eventually_open()
    story.eventually_closed()
    story.eventually_says("closed")


@pytest.mark.long
def test_a_freeze_closes_and_ends(story: Story) -> None:
    """Committed while open it closes at its beginning, says why, and at its end it opens by itself."""
    story.begin()
    starts = soon(90)
    ends = starts + timedelta(minutes=pace())
    freeze = {"starts": wall(starts), "ends": wall(ends), "reason": "Year-end change freeze"}
    story.policy({"outsideWindows": "Open", "freezes": {"soon": freeze}})
    story.eventually_delivered()
    assert story.open()
    story.eventually_closed()
    assert "Year-end change freeze" in str(story.target()["metadata"]["annotations"])
    story.eventually_open()


def test_state_holds_by_hand(story: Story) -> None:
    """`state` outranks the windows, in both directions, and `Scheduled` gives the word back to them."""
    story.begin()
    always = {"always": {"opens": "daily 00:00", "closes": "24:00"}}
    story.policy({"state": "Closed", "windows": always})
    story.eventually_closed()
    story.policy({"state": "Scheduled", "windows": always})
    story.eventually_open()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    story.policy({"state": "Open", "windows": {"later": far_window().spec}})
    story.eventually_open()


def test_a_delivery_that_waits_is_not_blocked(story: Story) -> None:
    """`wait: true` on what delivers the windows: it is ready though one target is missing, one suspended."""
    story.begin()
    story.api.patch(
        "kustomizations", story.name, PARENT, {"spec": {"wait": True, "timeout": "30s"}}
    )
    targets = [{"kind": "Kustomization", "names": [APPS, "absent"], "mustExist": False}]
    story.policy({"targets": targets, "windows": {"later": far_window().spec}})
    story.eventually_delivered()
    assert story.closed()
    throughout(1.5 * INTERVAL, "the parent is ready", lambda: readiness(story) != "False")


def test_a_delivery_that_waits_is_not_red_for_what_heals(story: Story) -> None:
    """`wait: true`: the Job that looks at once is refused everything, what delivers it is ready; the next look heals.

    It stays ready, as nothing of that Job remains but that it is complete.
    """
    story.begin()
    story.api.patch(
        "kustomizations", story.name, PARENT, {"spec": {"wait": True, "timeout": "10m"}}
    )
    policy = {"interval": "1m", "windows": {"later": far_window().spec}}
    nothing = {"target": {"kind": "Role", "name": "windows-gate"}, "patch": NO_RULES}
    story.write(
        "cluster/kustomization.yaml",
        {"resources": [*story.listed, "windows"], "patches": [nothing]},
    )
    story.write("windows.yaml", story.policy_text(policy))
    story.render("windows.yaml", "cluster/windows")
    story.commit("Set windows whose account may do nothing")
    story.eventually_delivered()
    assert readiness(story) != "False"
    assert story.open()
    [at_once] = [
        job for job in story.api.items("jobs", story.name) if "-apply-" in job["metadata"]["name"]
    ]
    assert [each["type"] for each in at_once["status"]["conditions"] if each["status"] == "True"][
        -1
    ] == "Complete"
    assert any(line.get("left") == "to the next run" for line in story.log("windows-apply-*"))
    story.include("windows")
    story.commit("Give the account its rights")
    story.eventually_closed()
    story.eventually_delivered()
    eventually("it is ready", lambda: readiness(story) == "True")
    throughout(2.5 * INTERVAL, "it stays ready", lambda: readiness(story) != "False")


def test_an_image_that_a_layer_above_sets_replaces_the_job(story: Story) -> None:
    """A Job cannot be changed, and its name knows nothing of the layer: Flux replaces it, as its annotation says."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    image = {"name": "docker.io/library/python", "newName": "registry.example/python"}
    story.write("cluster/kustomization.yaml", {"resources": story.listed, "images": [image]})
    story.commit("Take the image from our own registry")
    story.eventually_delivered()
    assert all(
        "registry.example" in str(job["spec"]) for job in story.api.items("jobs", story.name)
    )


def readiness(story: Story) -> str:
    """Return the status of the condition Ready of `fleet`; it is unknown while it reconciles."""
    conditions = story.target(PARENT)["status"]["conditions"]
    [ready] = [each["status"] for each in conditions if each["type"] == "Ready"]
    return str(ready)
