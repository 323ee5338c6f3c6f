"""The Kustomization that delivers the targets reconciles all the time.

What it takes back, and what holds.
"""

from environment import APPS, INTERVAL, Environment, eventually, far_window, throughout


def test_our_suspension_survives_the_parent(env: Environment) -> None:
    """The parent's reconciles leave it, and so does a commit to another field of the target."""
    env.begin_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", env.closed)
    env.write("cluster/apps.yaml", env.kustomization(APPS, "./apps", timeout="77s"))
    env.commit("Change another field")
    eventually("the other field is changed", lambda: env.target()["spec"].get("timeout") == "77s")
    throughout(INTERVAL, "apps stays closed", env.closed)


def test_suspend_false_holds_where_the_parent_ignores_it(env: Environment) -> None:
    """Without the function, the parent's `spec.ignore` makes it hold."""
    ignore = {"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}
    env.begin(suspend=False)
    env.api.patch("kustomizations", env.name, "fleet", {"spec": {"ignore": [ignore]}})
    env.policy({"windows": {"later": far_window().spec}})
    env.eventually_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", env.closed)
