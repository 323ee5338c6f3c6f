"""Renaming, dropping, taking over, removing: whose suspension it was, and who lifts it."""

from datetime import timedelta
from shutil import rmtree

from telling import APPS, Story, eventually, far_window, minute, throughout, wall
from test_policies import CLOSED, OPEN


def test_a_renamed_policy_knows_its_former_marks(story: Story) -> None:
    """`formerNames`: the new name's look takes the old one's mark over, and opens what that closed."""
    story.begin()
    story.policy(CLOSED, name="before")
    eventually("closed by the old name", lambda: story.closed("before"))
    story.leave_out("before")
    story.policy({**CLOSED, "formerNames": [f"{story.name}/before"]}, name="after")
    eventually(
        "closed by the new name", lambda: story.closed("after") and not story.marked("before")
    )
    story.policy({**OPEN, "formerNames": [f"{story.name}/before"]}, name="after")
    eventually("open", lambda: story.open("after"))


def test_a_renamed_policy_without_former_names_leaves_it_closed(story: Story) -> None:
    """The old mark keeps it closed, and the log says that it is another policy's."""
    story.begin()
    story.policy(CLOSED, name="before")
    eventually("closed by the old name", lambda: story.closed("before"))
    story.leave_out("before")
    rmtree(story.tree / "cluster/before")  # beside it the other would be refused
    story.policy(OPEN, name="after")
    story.eventually_says("left closed by another policy")
    assert story.suspended()


def test_a_dropped_target_is_released(story: Story) -> None:
    """`released`: a target that the policy gates no more is opened, though the policy is closed."""
    story.write(
        "cluster/infra.yaml",
        story.kustomization("infra", "./apps", prune=False, targetNamespace=story.name),
    )
    story.include("infra.yaml")
    story.begin()
    both = [{"kind": "Kustomization", "names": [APPS, "infra"]}]
    story.policy({**CLOSED, "targets": both})
    eventually("both are closed", lambda: story.closed() and story.suspended("infra"))
    only = [{"kind": "Kustomization", "names": [APPS]}]
    story.policy(
        {**CLOSED, "targets": only, "released": [{"kind": "Kustomization", "names": ["infra"]}]}
    )
    eventually(
        "infra is open", lambda: not story.suspended("infra") and not story.marked(name="infra")
    )
    assert story.closed()


def test_what_hand_written_cron_jobs_closed_is_adopted(story: Story) -> None:
    """`adoptUntil`: until then a suspension without a mark counts as ours, and is opened."""
    story.begin()
    story.api.patch("kustomizations", story.name, APPS, {"spec": {"suspend": True}}, manager="flux")
    story.policy({**OPEN, "adoptUntil": wall(minute(3600))})
    story.eventually_open()


def test_what_was_suspended_after_adoption_is_a_persons(story: Story) -> None:
    """After `adoptUntil` it is left alone."""
    story.begin()
    story.api.patch("kustomizations", story.name, APPS, {"spec": {"suspend": True}}, manager="flux")
    story.policy({**OPEN, "adoptUntil": wall(minute() - timedelta(days=1))})
    story.eventually_says("left closed by a person")
    assert story.suspended()


def test_open_wait_remove(story: Story) -> None:
    """`state: Open`, then the policy is removed: nothing of it stays, and the target is open."""
    story.begin()
    story.policy(CLOSED)
    story.eventually_closed()
    story.policy(OPEN)
    story.eventually_open()
    story.leave_out("windows")
    story.commit("Remove the windows")
    eventually("all of it is gone", lambda: nothing_left(story))
    throughout(10, "apps stays open", story.open)


def test_render_uninstall_lifts_marks_and_suspensions(story: Story) -> None:
    """One Job and its rights replace the CronJobs; it opens what was closed, and then it can go."""
    story.begin()
    story.policy(CLOSED)
    story.eventually_closed()
    story.policy(CLOSED, "--uninstall")
    story.eventually_open()
    eventually("the CronJobs are gone", lambda: not story.api.items("cronjobs", story.name))
    story.leave_out("windows")
    story.commit("Remove the windows")
    eventually("all of it is gone", lambda: nothing_left(story))
    assert story.open()


def test_the_way_out_for_a_policy_deleted_while_closed(story: Story) -> None:
    """What it closed stays closed; rendering the uninstall from the policy of before opens it, as the guide says."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    story.leave_out("windows")
    story.commit("Remove the windows, too early")
    eventually("all of it is gone", lambda: nothing_left(story))
    throughout(20, "apps stays closed", story.closed)
    story.render("windows.yaml", "cluster/windows", "--uninstall")
    story.kubectl("apply", "--kustomize", str(story.tree / "cluster/windows"))
    story.eventually_open()
    story.kubectl("delete", "--kustomize", str(story.tree / "cluster/windows"))
    assert nothing_left(story)


def nothing_left(story: Story) -> bool:
    """Say whether nothing that the function emitted is in the namespace."""
    kinds = ("cronjobs", "jobs", "configmaps", "roles", "rolebindings", "serviceaccounts")
    ours = "app.kubernetes.io/name=krm-windows"
    return not any(story.api.items(kind, story.name, labelSelector=ours) for kind in kinds)
