"""The Kustomization that delivers the targets reconciles all the time."""

from environment import APPS, INTERVAL, Environment, eventually, throughout


def test_our_suspension_survives_the_parent(env: Environment) -> None:
    """The parent's reconciles leave it, and so does a commit to another field of the target."""
    env.begin_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", env.closed)
    env.write("cluster/apps.yaml", env.kustomization(APPS, "./apps", timeout="77s"))
    env.commit("Change another field")
    eventually("the other field is changed", lambda: env.target()["spec"].get("timeout") == "77s")
    throughout(INTERVAL, "apps stays closed", env.closed)


def test_a_plain_kubectl_patch_does_not(env: Environment) -> None:
    """The parent takes it back: the reason for our field manager."""
    env.begin()
    env.kubectl(
        "patch", "kustomization", APPS, "--type=merge", "--patch", '{"spec":{"suspend":true}}'
    )
    assert env.suspended()
    eventually("the parent takes it back", lambda: not env.suspended())


def test_suspend_false_in_git_takes_every_close_back(env: Environment) -> None:
    """The layout that the function prevents."""
    env.begin(suspend=False)
    env.policy()
    env.eventually_says("closed")
    eventually("the parent opens it", lambda: not env.suspended())


def test_suspend_false_is_removed_by_the_function(env: Environment) -> None:
    """Built with the function as a transformer, the same target in Git holds every close."""
    env.begin(suspend=False)
    env.write("source/windows.yaml", env.policy_text())
    env.write("source/apps.yaml", env.kustomization(APPS, "./apps", suspend=False))
    env.write(
        "source/kustomization.yaml", {"resources": ["apps.yaml"], "transformers": ["windows.yaml"]}
    )
    env.write("cluster/built.yaml", env.built("source"))
    env.leave_out("apps.yaml")
    env.include("built.yaml")
    env.commit("Build with the function")
    env.eventually_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", env.closed)


def test_suspend_false_holds_where_the_parent_ignores_it(env: Environment) -> None:
    """Without the function, the parent's `spec.ignore` makes it hold."""
    ignore = {"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}
    env.begin(suspend=False)
    env.api.patch("kustomizations", env.name, "fleet", {"spec": {"ignore": [ignore]}})
    env.closes()
    throughout(2.2 * INTERVAL, "apps stays closed", env.closed)
