"""An empty cluster comes up, with the windows of a target whose namespace a gated one creates."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from environment import APPS, CLOSED, INTERVAL, PARENT, Environment, Object, eventually, throughout

from krm_windows.gate.annotations import annotation

WEB = "web"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "prometheusrules.monitoring.coreos.com"},
    "spec": {
        "group": "monitoring.coreos.com",
        "names": {"kind": "PrometheusRule", "plural": "prometheusrules"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
IGNORE = [{"paths": ["/spec/suspend"], "target": {"kind": "Kustomization"}}]


@contextmanager
def shop(env: Environment, **web: object) -> Iterator[str]:
    name = f"{env.name}-shop"
    metadata = {"name": name, "namespace": name}
    source = {"kind": "GitRepository", "name": PARENT, "namespace": env.name}
    inner = env.kustomization(WEB, "./web", targetNamespace=name, sourceRef=source, **web)
    env.write(
        "apps/shop.yaml", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    env.write("apps/web.yaml", {**inner, "metadata": {**metadata, "name": WEB}})
    env.write("apps/kustomization.yaml", {"resources": ["shop.yaml", "web.yaml"]})
    write_web(env, "1")
    # What delivers the windows is applied by hand, as `flux bootstrap` does.
    root = env.kustomization(PARENT, "./cluster", targetNamespace=None, ignore=IGNORE)
    env.write("cluster/fleet.yaml", root)
    yield name
    env.api.delete("namespaces", None, name)


def write_web(env: Environment, version: str) -> None:
    metadata = {"name": WEB}
    content: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    env.write("web/web.yaml", {**content, "data": {"version": version}})


def spec(name: str, **more: object) -> dict[str, object]:
    return {
        "crossNamespaceTargets": "Allow",
        "interval": "1m",
        "targets": [
            {"kind": "Kustomization", "names": [APPS]},
            {"kind": "Kustomization", "namespace": name, "names": [WEB], "mustExist": False},
        ],
        **CLOSED,
        **more,
    }


def set_policy(env: Environment, policy: dict[str, object], *, commit: bool) -> None:
    env.policy(policy, "--flux-kustomization", "cluster/fleet.yaml", commit=commit)


def version(env: Environment, name: str) -> Callable[[], str | None]:
    def found() -> str | None:
        config = env.api.find("configmaps", name, WEB)
        return config["data"]["version"] if config else None

    return found


def closed(env: Environment, name: str) -> Callable[[], bool]:
    def found() -> bool:
        web = env.api.get("kustomizations", name, WEB)
        annotations = web["metadata"].get("annotations", {})
        is_ours = annotation(f"{env.name}/windows") in annotations
        return is_ours and web["spec"].get("suspend") is True

    return found


def check_repository(env: Environment) -> None:
    options = ["--clusters", "cluster", "--source", f"{env.name}/{PARENT}=.", "--no-cache"]
    assert "no findings" in env.krm_windows("check", "--repo", ".", *options)


@pytest.mark.long
def test_a_new_cluster_comes_up_with_targets_in_other_namespaces(env: Environment) -> None:
    """`Allow`: all is applied once, then closed, in the namespace of somebody else, too."""
    with shop(env) as name:
        set_policy(env, spec(name), commit=False)
        env.begin(apply=False, targetNamespace=None)
        check_repository(env)
        current = version(env, name)
        eventually("web is applied", lambda: current() == "1")
        eventually("web is closed", closed(env, name))
        env.eventually_closed()
        write_web(env, "2")
        env.commit("Release 2")
        throughout(2.2 * INTERVAL, "version 1 stays", lambda: current() == "1")


@pytest.mark.long
def test_a_new_cluster_comes_up_where_windows_need_the_namespace_of_a_target(
    env: Environment,
) -> None:
    """`Allow`: what creates it is applied before there are windows, so these arrive after it."""
    with shop(env) as name:
        env.write("windows.yaml", env.policy_text(spec(name)))
        # Nothing says how it is delivered, so all of it is in one kustomization.
        env.render("windows.yaml", "windows")
        env.write("cluster/gate.yaml", env.kustomization("gate", "./windows", targetNamespace=None))
        env.include("gate.yaml")
        env.begin(apply=False, targetNamespace=None)
        check_repository(env)
        current = version(env, name)
        eventually("web is applied", lambda: current() == "1")
        eventually("web is closed", closed(env, name))
        env.eventually_closed()


@pytest.mark.disruptive  # others list all kinds, of which one goes
def test_a_new_cluster_comes_up_without_the_definition_of_alerts(env: Environment) -> None:
    """A PrometheusRule holds up nothing, and follows when its definition is there."""
    root = env.kustomization(PARENT, "./cluster", targetNamespace=None)
    env.write("cluster/fleet.yaml", root)
    set_policy(env, {**CLOSED, "extras": ["PrometheusRule"], "interval": "1m"}, commit=False)
    env.begin()
    env.eventually_closed()
    env.eventually_delivered()
    rules = ("get", "prometheusrules", "--namespace", env.name, "--output=name")
    definition = env.tree / "definition.yaml"
    definition.write_text(json.dumps(DEFINITION))
    try:
        env.kubectl("create", f"--filename={definition}")
        env.kubectl("wait", "--for=condition=Established", f"--filename={definition}")
        eventually("the alerts are there", lambda: "windows" in env.kubectl(*rules))
    finally:
        env.kubectl("delete", f"--filename={definition}")


@pytest.mark.long
def test_a_new_cluster_waits_with_targets_in_other_namespaces(env: Environment) -> None:
    """`Wait`: the windows arrive, and nothing else before they open; then all of it comes up."""
    with shop(env, suspend=True) as name:
        waiting = spec(name, firstApply="Wait")
        set_policy(env, waiting, commit=False)
        env.begin(apply=False, suspend=True, targetNamespace=None, ignore=IGNORE)
        check_repository(env)
        env.api.patch("kustomizations", env.name, PARENT, {"spec": {"ignore": IGNORE}})
        eventually(
            "it is there", lambda: env.api.find("kustomizations", env.name, APPS) is not None
        )
        env.eventually_closed()
        # A run that may not read it says so of that target alone.
        env.eventually_says("not permitted yet")
        assert env.api.find("namespaces", None, name) is None
        set_policy(env, {**waiting, "state": "Open"}, commit=True)
        current = version(env, name)
        eventually("web is applied", lambda: current() == "1")
