"""Several policies: one target has one policy.

Where two are forced onto it, the closed one wins.
"""

import shutil

import pytest
from environment import APPS, Environment, Spec, eventually, throughout

CLOSED: Spec = {
    "state": "Closed",
    "windows": {"later": {"opens": "daily 03:00", "closes": "daily 04:00"}},
}
OPEN: Spec = {**CLOSED, "state": "Open"}


@pytest.mark.long
@pytest.mark.parametrize("first", ["one", "two"])
def test_the_closed_one_wins(env: Environment, first: str) -> None:
    """Both close it; it opens when the second of them opens, in either order."""
    second = "two" if first == "one" else "one"
    env.begin()
    for name in ("one", "two"):
        force(env, CLOSED, name)
    eventually("both closed it", lambda: env.closed("one") and env.closed("two"))
    force(env, OPEN, first)
    eventually("the first removed its annotation", lambda: not env.annotated(first))
    throughout(10, "apps stays closed", lambda: env.closed(second))
    force(env, OPEN, second)
    eventually("the second opened it", lambda: env.open(first) and env.open(second))


def force(env: Environment, spec: Spec, name: str) -> None:
    """Set a policy beside another although the build would refuse it.

    It is built where the other is not seen.
    """
    apart = Environment(env.api, env.name, env.tree.parent / f"apart-{name}")
    apart.write(f"{name}.yaml", apart.policy_text(spec, name))
    apart.render(f"{name}.yaml", "windows")
    shutil.copytree(apart.tree / "windows", env.tree / "cluster" / name, dirs_exist_ok=True)
    env.include(name)
    env.commit(f"Set {name}")


def test_one_policy_for_two_namespaces(env: Environment, neighbour: Environment) -> None:
    """A policy gates targets of another namespace, with a Role there, and of its own."""
    for each in (env, neighbour):
        each.begin()
    elsewhere = {"kind": "Kustomization", "names": [APPS], "namespace": neighbour.name}
    targets = [{"kind": "Kustomization", "names": [APPS]}, elsewhere]
    env.policy({**CLOSED, "crossNamespaceTargets": "Allow", "targets": targets})
    env.eventually_closed()
    eventually("the neighbour's is closed", neighbour.suspended)
    role = neighbour.api.items("roles", neighbour.name)[0]
    assert role["rules"][0]["resourceNames"] == [APPS]
