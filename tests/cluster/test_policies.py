"""Several policies: one target has one policy, and where two are forced onto it, the closed one wins."""

import shutil
import subprocess

import pytest
from lab.settings import BIN
from telling import APPS, FUNCTION, Spec, Story, eventually, far_window, throughout

CLOSED: Spec = {
    "state": "Closed",
    "windows": {"later": {"opens": "daily 03:00", "closes": "daily 04:00"}},
}
OPEN: Spec = {**CLOSED, "state": "Open"}


def test_two_policies_on_one_target_are_refused(story: Story) -> None:
    """The build of the second names the first."""
    story.write("cluster/apps.yaml", story.kustomization(APPS, "./apps"))
    for name in ("one", "two"):
        story.write(
            f"cluster/{name}.yaml",
            story.policy_text({"windows": {"later": far_window().spec}}, name),
        )
    story.write(
        "cluster/kustomization.yaml",
        {"resources": ["apps.yaml"], "transformers": ["one.yaml", "two.yaml"]},
    )
    subprocess.run(
        [FUNCTION, "install", "--plugin-home", "plugins"],
        cwd=story.tree,
        check=True,
        capture_output=True,
    )
    command = [BIN / "kubectl", "kustomize", "--enable-alpha-plugins", "cluster"]
    environment = {
        "KUSTOMIZE_PLUGIN_HOME": str(story.tree / "plugins"),
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
    }
    done = subprocess.run(
        command, cwd=story.tree, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"{story.name}/one" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("first", ["one", "two"])
def test_the_closed_one_wins(story: Story, first: str) -> None:
    """Both close it; it opens when the second of them opens, in either order."""
    second = "two" if first == "one" else "one"
    story.begin()
    for name in ("one", "two"):
        force(story, CLOSED, name)
    eventually("both closed it", lambda: story.closed("one") and story.closed("two"))
    force(story, OPEN, first)
    eventually("the first lifted its mark", lambda: not story.marked(first))
    throughout(10, "apps stays closed", lambda: story.closed(second))
    force(story, OPEN, second)
    eventually("the second opened it", lambda: story.open(first) and story.open(second))


def force(story: Story, spec: Spec, name: str) -> None:
    """Set a policy that the build would refuse beside the other, by building it where the other is not seen."""
    apart = Story(story.api, story.name, story.tree.parent / f"apart-{name}")
    apart.write(f"{name}.yaml", apart.policy_text(spec, name))
    apart.render(f"{name}.yaml", "windows")
    shutil.copytree(apart.tree / "windows", story.tree / "cluster" / name, dirs_exist_ok=True)
    story.include(name)
    story.commit(f"Set {name}")


@pytest.mark.long
def test_one_name_in_two_namespaces(story: Story, neighbour: Story) -> None:
    """Policies of one name in two namespaces know their own marks and objects."""
    for each in (story, neighbour):
        each.begin()
        each.policy(CLOSED)
    for each in (story, neighbour):
        each.eventually_closed()
    story.policy(OPEN)
    story.eventually_open()
    throughout(10, "the neighbour stays closed", neighbour.closed)


def test_one_policy_for_two_namespaces(story: Story, neighbour: Story) -> None:
    """A policy gates targets of another namespace, with a Role there, and of its own."""
    for each in (story, neighbour):
        each.begin()
    elsewhere = {"kind": "Kustomization", "names": [APPS], "namespace": neighbour.name}
    targets = [{"kind": "Kustomization", "names": [APPS]}, elsewhere]
    story.policy({**CLOSED, "crossNamespaceTargets": "Allow", "targets": targets})
    story.eventually_closed()
    eventually("the neighbour's is closed", neighbour.suspended)
    role = neighbour.api.items("roles", neighbour.name)[0]
    assert role["rules"][0]["resourceNames"] == [APPS]
