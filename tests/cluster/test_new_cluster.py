"""An empty cluster comes up, with the windows of a target whose namespace a gated one creates."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from environment import APPS, CLOSED, PARENT, Environment, config_map, eventually
from test_kinds import Kind, definition
from when import Spec

from krm_windows.gate.annotations import annotation

WEB = "web"
ALERTS = Kind("PrometheusRule", "prometheusrules", "monitoring.coreos.com", "v1")
IGNORE = [{"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}]
FLUX = ("--flux-kustomization", "cluster/fleet.yaml")


@contextmanager
def shop(env: Environment, **web: object) -> Iterator[Environment]:
    """Have `apps` create a namespace, and a Kustomization in it; yield that namespace."""
    inner = Environment(env.api, f"{env.name}-shop", env.tree)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inner.name}}
    source = {"kind": "GitRepository", "name": PARENT, "namespace": env.name}
    env.write("apps/shop.yaml", namespace)
    env.write("apps/web.yaml", inner.kustomization(WEB, "./web", sourceRef=source, **web))
    env.write("apps/kustomization.yaml", {"resources": ["shop.yaml", "web.yaml"]})
    env.write("web/web.yaml", config_map(WEB, "1"))
    # What delivers the windows is applied by hand, as `flux bootstrap` does.
    root = env.kustomization(PARENT, "./cluster", targetNamespace=None, ignore=IGNORE)
    env.write("cluster/fleet.yaml", root)
    yield inner
    env.api.delete("namespaces", None, inner.name)


def spec(inner: Environment, **more: object) -> Spec:
    web = {"kind": "Kustomization", "namespace": inner.name, "names": [WEB], "mustExist": False}
    targets = [{"kind": "Kustomization", "names": [APPS]}, web]
    both = {"crossNamespaceTargets": "Allow", "targets": targets}
    return {**CLOSED, "interval": "1m", **both, **more}


def comes_up(env: Environment, inner: Environment) -> None:
    """All is applied once, and closed then, in the namespace of somebody else, too."""
    env.begin(apply=False, targetNamespace=None)
    check_repository(env)
    inner.eventually_applied("1", WEB)
    eventually("web is closed", lambda: closed(env, inner))
    env.eventually_closed()


def closed(env: Environment, inner: Environment) -> bool:
    web = inner.target(WEB)
    is_ours = annotation(f"{env.name}/windows") in web["metadata"].get("annotations", {})
    return is_ours and web["spec"].get("suspend") is True


def check_repository(env: Environment) -> None:
    options = ["--clusters", "cluster", "--source", f"{env.name}/{PARENT}=.", "--no-cache"]
    assert "no findings" in env.krm_windows("check", "--repo", ".", *options)


@pytest.mark.long
def test_a_new_cluster_comes_up_with_targets_in_other_namespaces(env: Environment) -> None:
    """With `Allow`."""
    with shop(env) as inner:
        env.policy(spec(inner), *FLUX, commit=False)
        comes_up(env, inner)
        env.write("web/web.yaml", config_map(WEB, "2"))
        env.commit("Release 2")
        inner.waits("1", name=WEB)


@pytest.mark.long
def test_a_new_cluster_comes_up_where_windows_need_the_namespace_of_a_target(
    env: Environment,
) -> None:
    """`Allow`: what creates it is applied before there are windows, so these arrive after it."""
    with shop(env) as inner:
        env.write("windows.yaml", env.policy_text(spec(inner)))
        # Nothing says how it is delivered, so all of it is in one kustomization.
        env.render("windows.yaml", "windows")
        env.add("gate.yaml", env.kustomization("gate", "./windows", targetNamespace=None))
        comes_up(env, inner)


@pytest.mark.disruptive  # others list all kinds, of which one goes
def test_a_new_cluster_comes_up_without_the_definition_of_alerts(env: Environment) -> None:
    """A PrometheusRule holds up nothing, and follows when its definition is there."""
    root = env.kustomization(PARENT, "./cluster", targetNamespace=None)
    env.write("cluster/fleet.yaml", root)
    env.policy({**CLOSED, "extras": ["PrometheusRule"], "interval": "1m"}, *FLUX, commit=False)
    env.begin()
    env.eventually_closed()
    env.eventually_delivered()
    rules = ("get", "prometheusrules", "--namespace", env.name, "--output=name")
    file = env.tree / "definition.yaml"
    file.write_text(json.dumps(definition(ALERTS)))
    try:
        env.kubectl("create", f"--filename={file}")
        env.kubectl("wait", "--for=condition=Established", f"--filename={file}")
        eventually("the alerts are there", lambda: "windows" in env.kubectl(*rules))
    finally:
        env.kubectl("delete", f"--filename={file}")


@pytest.mark.long
def test_a_new_cluster_waits_with_targets_in_other_namespaces(env: Environment) -> None:
    """`Wait`: the windows arrive, and nothing else before they open; then all of it comes up."""
    with shop(env, suspend=True) as inner:
        waiting = spec(inner, firstApply="Wait")
        env.policy(waiting, *FLUX, commit=False)
        env.begin(apply=False, suspend=True, targetNamespace=None, ignore=IGNORE)
        check_repository(env)
        env.api.patch("kustomizations", env.name, PARENT, {"spec": {"ignore": IGNORE}})
        eventually("it is there", lambda: bool(env.api.find("kustomizations", env.name, APPS)))
        env.eventually_closed()
        # A run that may not read it says so of that target alone.
        env.eventually_says("not permitted yet")
        assert env.api.find("namespaces", None, inner.name) is None
        env.policy({**waiting, "state": "Open"}, *FLUX)
        inner.eventually_applied("1", WEB)
