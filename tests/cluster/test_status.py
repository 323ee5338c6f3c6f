"""`krm-windows status` on the real cluster, by the kubectl of an administrator and of somebody without rights."""

import json
import os
import subprocess
from pathlib import Path

from lab.settings import ADMIN, BIN
from telling import APPS, FUNCTION, Object, Story, far_window

HOLD = {"metadata": {"annotations": {"krm-windows.dev/hold": "anna: the press is being repaired"}}}


def status(story: Story, *options: str | Path) -> tuple[int, Object, str]:
    """Ask for the status of the story's policy; return exit code, what was printed as JSON, and what was said."""
    command = [FUNCTION, "status", "windows.yaml", "-o", "json", "--kubeconfig", ADMIN, *options]
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=story.tree,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def row(found: Object) -> tuple[str, str, str | None]:
    """Return what the only target is, what it should be, and who keeps it shut."""
    [target] = found["targets"]
    return target["state"], target["wanted"], target["suspendedBy"]


def test_it_tells_whose_suspension_it_is(story: Story) -> None:
    """Closed by the policy, resumed by a person, held by one; a last look is found among the Jobs."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_closed()
    code, found, said = status(story)
    assert (code, row(found), said) == (0, ("closed", "closed", "this policy"), "")
    assert found["targets"][0]["until"] == found["wanted"]["until"]
    story.api.patch("kustomizations", story.name, APPS, HOLD)
    assert row(status(story)[1])[2] == "held: anna: the press is being repaired"
    story.api.patch(
        "kustomizations", story.name, APPS, {"spec": {"suspend": False}}, manager="flux"
    )
    code, found, _ = status(story)
    assert (code, row(found)) == (1, ("open", "closed", None))


def test_a_first_apply_is_as_wanted(story: Story) -> None:
    """A target that was never applied is open, and should be."""
    story.begin(apply=False, dependsOn=[{"name": "never"}])
    story.policy({"windows": {"later": far_window().spec}})
    story.eventually_delivered()
    code, found, _ = status(story)
    assert (code, row(found)) == (0, ("open", "open", None))


def test_who_may_not_read_is_told_so(story: Story) -> None:
    """The API server's own words, and what is needed."""
    story.begin()
    story.policy({"windows": {"later": far_window().spec}})
    account = f"system:serviceaccount:{story.name}:default"
    config = json.loads(ADMIN.read_text())
    config["users"][0]["user"]["as"] = account
    (story.tree / "nobody.kubeconfig").write_text(json.dumps(config))
    code, _, said = status(story, "--kubeconfig", story.tree / "nobody.kubeconfig")
    assert code == 1
    assert f'User "{account}" cannot get resource "kustomizations"' in said
    assert "reading the targets takes `get` on them" in said
