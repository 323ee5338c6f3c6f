"""Renaming, dropping, taking over, removing: whose suspension it was, and who lifts it."""

from datetime import timedelta
from shutil import rmtree

import proposed
from environment import APPS, CLOSED, OPEN, Environment, eventually, throughout
from when import minute, wall

from krm_windows.gate.annotations import annotation


def test_a_renamed_policy_knows_its_former_annotations(env: Environment) -> None:
    env.begin()
    env.policy(CLOSED, name="before")
    eventually("closed by the old name", lambda: env.closed("before"))
    env.leave_out("before")
    env.policy({**CLOSED, "formerNames": [f"{env.name}/before"]}, name="after")
    eventually("closed by it", lambda: env.closed("after") and not env.annotated("before"))
    env.policy({**OPEN, "formerNames": [f"{env.name}/before"]}, name="after")
    eventually("open", lambda: env.open("after"))


def test_a_renamed_policy_without_former_names_takes_it_over(env: Environment) -> None:
    """As soon as the old one is pruned, and with it the right to patch the target."""
    env.begin()
    env.policy(CLOSED, name="before")
    eventually("closed by the old name", lambda: env.closed("before"))
    env.leave_out("before")
    rmtree(env.tree / "cluster/before")  # beside it the other would be refused
    env.policy(OPEN, name="after")
    env.eventually_says(f"taken over from {env.name}/before")
    eventually("open", lambda: env.open("after") and not env.annotated("before"))


def test_a_dropped_target_is_released(env: Environment) -> None:
    """`released`: a target that the policy gates no more is opened, though the policy is closed."""
    infra = env.kustomization("infra", "./apps", prune=False, targetNamespace=env.name)
    env.add("infra.yaml", infra)
    env.begin()
    env.policy({**CLOSED, "targets": [{"kind": "Kustomization", "names": [APPS, "infra"]}]})
    eventually("both are closed", lambda: env.closed() and env.suspended("infra"))
    only = [{"kind": "Kustomization", "names": [APPS]}]
    released = [{"kind": "Kustomization", "names": ["infra"]}]
    env.policy({**CLOSED, "targets": only, "released": released})
    eventually("infra is open", lambda: not env.suspended("infra"))
    eventually("it is released", lambda: not env.annotated(name="infra"))
    assert env.closed()


def test_what_hand_written_cron_jobs_closed_is_adopted(env: Environment) -> None:
    """`adoptUntil`: until then a suspension without the annotation is ours, and is opened."""
    env.begin()
    env.shell(f"flux suspend kustomization {APPS} -n flux-system")
    env.opens({**OPEN, "adoptUntil": wall(minute(3600))})


def test_what_was_suspended_after_adoption_is_a_persons(env: Environment) -> None:
    """After `adoptUntil` it is left alone."""
    env.begin()
    env.shell(f"flux suspend kustomization {APPS} -n flux-system")
    env.policy({**OPEN, "adoptUntil": wall(minute() - timedelta(days=1))})
    env.eventually_says("left closed by a person")
    assert env.suspended()


def test_open_wait_remove(env: Environment) -> None:
    """`state: Open`, then the policy is removed: nothing of it stays, and the target is open."""
    env.begin_closed()
    env.opens()
    remove_windows(env)
    throughout(10, "apps stays open", env.open)


def test_render_uninstall_lifts_suspensions(env: Environment) -> None:
    """One Job and its rights replace the CronJobs; it opens what was closed, and then it can go."""
    env.begin_closed()
    env.policy(CLOSED, "--uninstall")
    env.eventually_open()
    eventually("the CronJobs are gone", lambda: not env.api.items("cronjobs", env.name))
    remove_windows(env)
    assert env.open()


def test_the_way_out_for_a_policy_deleted_while_closed(env: Environment) -> None:
    """Rendering the uninstall from the policy of before opens it, as the guide says."""
    env.begin_closed()
    remove_windows(env)
    throughout(20, "apps stays closed", env.closed)
    env.render("windows.yaml", "cluster/windows", "--uninstall")
    [apply] = proposed.commands("docs/how-to/removing-a-policy.md", "kubectl apply")
    env.shell(apply.replace("-k windows", "-k cluster/windows"))
    env.eventually_open()
    env.reconcile_delivery()
    assert env.open()
    env.kubectl("delete", "--kustomize", str(env.tree / "cluster/windows"))
    assert nothing_left(env)


def test_a_policy_deleted_while_closed_is_undone_by_hand(env: Environment) -> None:
    """By the commands of the pages, with the kubectl that people have: Flux takes nothing back."""
    env.add("infra.yaml", env.kustomization("infra", "./apps", prune=False))
    env.begin()
    both = [{"kind": "Kustomization", "names": [APPS, "infra"]}]
    env.closes({**CLOSED, "targets": both})
    eventually("infra is closed", lambda: env.annotated(name="infra"))
    remove_windows(env)
    closed_by = annotation(f"{env.name}/windows").rpartition("/")[2]
    [resume] = proposed.commands("docs/how-to/removing-a-policy.md", "flux resume")
    [annotate] = proposed.commands("docs/how-to/removing-a-policy.md", "kubectl annotate")
    env.shell(resume)
    env.shell(annotate.replace("<hash>", closed_by))
    env.reconcile_delivery()
    assert env.open()
    assert not env.suspended("infra")
    assert not env.annotated(name="infra")


def test_annotations_that_a_person_removes(env: Environment) -> None:
    """By the commands of the pages: Git has none of the gate's, so nothing brings them back."""
    env.begin()
    digest = annotation(f"{env.name}/windows").rpartition("/")[2]
    notes = {f"closed-by.krm-windows.dev/{digest}": "{}"}
    patch = {"metadata": {"annotations": notes}}
    env.api.patch("kustomizations", env.name, APPS, patch, manager="krm-windows")
    [closed_by] = proposed.commands("docs/how-to/rename-or-move.md", "kubectl annotate")
    env.shell(closed_by.replace("<hash>", digest))
    env.reconcile_delivery()
    assert not notes.keys() & env.target()["metadata"].get("annotations", {}).keys()


def remove_windows(env: Environment) -> None:
    env.leave_out("windows")
    env.commit("Remove the windows")
    eventually("all of it is gone", lambda: nothing_left(env))


def nothing_left(env: Environment) -> bool:
    kinds = ("cronjobs", "jobs", "configmaps", "roles", "rolebindings", "serviceaccounts")
    ours = "app.kubernetes.io/name=krm-windows"
    return not any(env.api.items(kind, env.name, labelSelector=ours) for kind in kinds)
