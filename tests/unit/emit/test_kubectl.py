"""What the actuator Kubectl emits: CronJobs that patch, the rights to do so, and nothing else."""

from datetime import timedelta

import zoned

from krm_windows import emit
from krm_windows.emit import kubectl
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan
from krm_windows.policy.model import Actuator

KUSTOMIZE, HELM = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"


def target(kind: str, namespace: str, name: str, group: str = KUSTOMIZE) -> Target:
    held = {"kind": kind, "resource": f"{kind.lower()}s"}
    return Target(group=group, namespace=namespace, name=name, **held)


APPS = target("Kustomization", "flux-system", "apps")
INFRA = APPS._replace(name="infra")
SHOP = APPS._replace(namespace="shop")
WEB = target("HelmRelease", "shop", "web", HELM)._replace(version="v2")


def plan(*targets: Target) -> Plan:
    held = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=targets)
    actuator = Actuator(type="Kubectl")
    return Plan("week", "flux-system", held, (), (), actuator, timedelta(minutes=2))


def commands(*targets: Target, suspend: bool = True) -> list[str]:
    containers = kubectl.pod(plan(*targets), suspend=suspend).containers
    return [" ".join([each["name"], *each["command"], *each["args"]]) for each in containers]


def test_a_container_for_each_namespace_and_kind() -> None:
    tail = '--type=merge --field-manager=krm-windows -p {"spec":{"suspend":true}}'
    assert commands(WEB, SHOP, INFRA, APPS) == [
        (
            f"kustomizations-flux-system kubectl patch kustomizations.{KUSTOMIZE} apps infra -n "
            f"flux-system {tail}"
        ),
        f"helmreleases-shop kubectl patch helmreleases.v2.{HELM} web -n shop {tail}",
        f"kustomizations-shop kubectl patch kustomizations.{KUSTOMIZE} apps -n shop {tail}",
    ]


def test_the_field_is_that_of_the_kind() -> None:
    [command] = commands(target("Thing", "a", "b", "")._replace(field=("spec", "x", "paused")))
    assert command.startswith("things-a kubectl patch things b -n a ")
    assert command.endswith('{"spec":{"x":{"paused":true}}}')


def test_containers_have_names_of_their_own() -> None:
    groups = ("cluster.x-k8s.io", "clusters.example.org")
    clusters = [target("Cluster", "n" * 63, "c", group) for group in groups]
    names = [each["name"] for each in kubectl.pod(plan(*clusters), suspend=True).containers]
    assert len(set(names)) == 2
    assert all(len(name) <= 63 for name in names)


def test_uninstalling_opens_once() -> None:
    [*_, job] = emit.objects(plan(APPS))
    assert job["kind"] == "Job"
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == '{"spec":{"suspend":false}}'
