"""`krm-windows pending` on the real cluster: what waits is shown while closed, and then gone."""

from environment import PARENT, Environment, Object, eventually
from test_sources import CLOSED, OPEN


def pending(env: Environment, *options: str) -> Object:
    """Ask what waits for the only target of the test's policy."""
    code, asked, said = env.ask("pending", *options)
    assert code == 0, said
    [target] = asked["targets"]
    found: Object = target
    return found


def test_a_commit_is_pending(env: Environment) -> None:
    """With its subject and author, and the object that it changes; after the opening it is gone."""
    env.begin_closed(CLOSED)
    env.release("2")
    # The source is the test's own repository, and no object in it says so.
    here = ("--repo", ".", "--clusters", "cluster", "--source", f"{PARENT}=.")
    eventually("the commit is offered", lambda: env.head() in pending(env)["offered"]["revision"])
    found = pending(env, *here)
    assert (found["pending"], found["open"], found["keptBy"]) == (True, False, None)
    assert found["opens"]
    assert [each["subject"] for each in found["commits"]][:1] == ["Release 2"]
    assert found["objects"] == [{"change": "changed", "object": f"ConfigMap {env.name}/app"}]
    assert env.version() == "1"
    env.policy(OPEN)
    env.eventually_applied("2")
    eventually("nothing waits any more", lambda: pending(env)["pending"] is False)
