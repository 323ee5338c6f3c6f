"""Several policies: one target has one policy."""

import shutil

import pytest
from environment import APPS, CLOSED, OPEN, Environment, eventually, throughout
from lab.processes import LabError
from when import Spec


def test_two_policies_on_one_target_are_refused(env: Environment) -> None:
    """The build of the second names the first."""
    env.write("cluster/apps.yaml", env.kustomization(APPS, "./apps"))
    for name in ("one", "two"):
        env.write(f"cluster/{name}.yaml", env.policy_text(CLOSED, name))
    env.write(
        "cluster/kustomization.yaml",
        {"resources": ["apps.yaml"], "transformers": ["one.yaml", "two.yaml"]},
    )
    with pytest.raises(LabError, match=f"{env.name}/one"):
        env.built("cluster")


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
    """The build would refuse it beside the other policy: it is built where that is not seen."""
    apart = Environment(env.api, env.name, env.tree.parent / f"apart-{name}")
    apart.write(f"{name}.yaml", apart.policy_text(spec, name))
    apart.render(f"{name}.yaml", "windows")
    shutil.copytree(apart.tree / "windows", env.tree / "cluster" / name, dirs_exist_ok=True)
    env.include(name)
    env.commit(f"Set {name}")


@pytest.mark.long
def test_one_name_in_two_namespaces(env: Environment, neighbour: Environment) -> None:
    """Policies of one name in two namespaces know their own annotations and objects."""
    for each in (env, neighbour):
        each.begin()
        each.policy(CLOSED)
    for each in (env, neighbour):
        each.eventually_closed()
    env.opens()
    throughout(10, "the neighbour stays closed", neighbour.closed)


def test_one_policy_for_two_namespaces(env: Environment, neighbour: Environment) -> None:
    """A policy gates targets of another namespace, with a Role there, and of its own."""
    for each in (env, neighbour):
        each.begin()
    elsewhere = {"kind": "Kustomization", "names": [APPS], "namespace": neighbour.name}
    targets = [{"kind": "Kustomization", "names": [APPS]}, elsewhere]
    env.closes({**CLOSED, "crossNamespaceTargets": "Allow", "targets": targets})
    eventually("the neighbour's is closed", neighbour.suspended)
    role = neighbour.api.items("roles", neighbour.name)[0]
    assert role["rules"][0]["resourceNames"] == [APPS]
