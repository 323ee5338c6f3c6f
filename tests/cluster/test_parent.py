"""The Kustomization that delivers the targets reconciles all the time; what it takes back, and what holds."""

import subprocess

from lab.settings import BIN
from telling import APPS, FUNCTION, INTERVAL, Story, eventually, far_window, throughout


def test_our_suspension_survives_the_parent(story: Story) -> None:
    """The parent's reconciles leave it, and so does a commit that changes another field of the target."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", story.closed)
    story.write("cluster/apps.yaml", story.kustomization(APPS, "./apps", timeout="77s"))
    story.commit("Change another field")
    eventually("the other field is changed", lambda: story.target()["spec"].get("timeout") == "77s")
    throughout(INTERVAL, "apps stays closed", story.closed)


def test_a_plain_kubectl_patch_does_not(story: Story) -> None:
    """What kubectl writes under its own name is taken back by the parent: the reason for our field manager."""
    story.begin()
    story.kubectl(
        "patch", "kustomization", APPS, "--type=merge", "--patch", '{"spec":{"suspend":true}}'
    )
    assert story.suspended()
    eventually("the parent takes it back", lambda: not story.suspended())


def test_suspend_false_in_git_takes_every_close_back(story: Story) -> None:
    """The layout that the function prevents: Git's word is the parent's, and the target is open though it is closed."""
    story.begin(suspend=False)
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_says("closed")
    eventually("the parent opens it", lambda: not story.suspended())


def test_suspend_false_is_removed_by_the_function(story: Story) -> None:
    """Built with the function as a transformer, the same target in Git holds every close."""
    story.begin(suspend=False)
    story.write("source/windows.yaml", story.policy_text({"windows": {"later": far_window().spec}}))
    story.write("source/apps.yaml", story.kustomization(APPS, "./apps", suspend=False))
    story.write(
        "source/kustomization.yaml", {"resources": ["apps.yaml"], "transformers": ["windows.yaml"]}
    )
    story.write("cluster/built.yaml", built(story))
    story.leave_out("apps.yaml")
    story.include("built.yaml")
    story.commit("Build with the function")
    story.eventually_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", story.closed)


def test_suspend_false_holds_where_the_parent_ignores_it(story: Story) -> None:
    """Without the function, the parent's `spec.ignore` makes it hold."""
    ignore = {"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}
    story.begin(suspend=False)
    story.api.patch("kustomizations", story.name, "fleet", {"spec": {"ignore": [ignore]}})
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    throughout(2.2 * INTERVAL, "apps stays closed", story.closed)


def built(story: Story) -> str:
    """Return what `kubectl kustomize` builds from `source/` with the function as a plugin."""
    plugins = story.tree.parent / "plugins"
    subprocess.run([FUNCTION, "install", "--plugin-home", plugins], check=True, capture_output=True)
    command = [BIN / "kubectl", "kustomize", "--enable-alpha-plugins", story.tree / "source"]
    environment = {
        "KUSTOMIZE_PLUGIN_HOME": str(plugins),
        "PATH": "/usr/bin:/bin",
        "HOME": str(story.tree.parent),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
