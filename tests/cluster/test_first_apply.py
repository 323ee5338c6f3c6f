"""A target that was never applied: a new cluster starts although it is closed."""

from environment import APPS, CLOSED, INTERVAL, Environment, eventually, throughout


def test_a_new_cluster_comes_up_although_it_is_closed(env: Environment) -> None:
    """`Allow`: the first version is applied, then the next run closes."""
    env.policy({**CLOSED, "interval": "1m"}, commit=False)
    env.begin(apply=False)
    env.eventually_applied("1")
    env.eventually_closed()
    env.release("2")
    env.waits("1")


def test_a_target_that_is_created_again_while_closed(env: Environment) -> None:
    """It is new: it is applied once more, and closed again by the next run."""
    env.begin_closed({**CLOSED, "interval": "1m"})
    env.release("2")
    env.eventually_delivered()
    env.api.delete("kustomizations", env.name, APPS)
    env.eventually_applied("2")
    env.eventually_closed()


def test_wait_keeps_a_new_target_closed(env: Environment) -> None:
    """With `suspend: true` in Git and the parent's `spec.ignore`."""
    ignore = {"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}
    waiting = {**CLOSED, "firstApply": "Wait"}
    env.policy(waiting, commit=False)
    env.begin(apply=False, suspend=True)
    env.api.patch("kustomizations", env.name, "fleet", {"spec": {"ignore": [ignore]}})
    eventually("it is there", lambda: env.api.find("kustomizations", env.name, APPS) is not None)
    env.eventually_closed()
    throughout(2 * INTERVAL, "nothing is applied", lambda: env.version() is None)
    env.opens({**waiting, "state": "Open"})
    env.eventually_applied("1")
