"""What the actuator Kubectl emits: CronJobs that patch, the rights to do so, and nothing else."""

import json
from datetime import timedelta

import zoned
from calls import POLICY, call, wire

from krm_windows import emit
from krm_windows.emit import kubectl
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan
from krm_windows.policy.model import Actuator

KUSTOMIZE, HELM = "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"
APPS = Target(
    group=KUSTOMIZE,
    resource="kustomizations",
    kind="Kustomization",
    namespace="flux-system",
    name="apps",
)
INFRA = APPS._replace(name="infra")
SHOP = APPS._replace(namespace="shop")
WEB = Target(
    group=HELM,
    resource="helmreleases",
    kind="HelmRelease",
    namespace="shop",
    name="web",
    version="v2",
)


def plan(*targets: Target) -> Plan:
    """Make a plan without edges for some targets."""
    held = zoned.timetable(policy="flux-system/week", time_zone="Etc/UTC", targets=targets)
    actuator = Actuator(type="Kubectl")
    return Plan("week", "flux-system", held, (), (), actuator, timedelta(minutes=2))


def commands(*targets: Target, suspend: bool = True) -> list[str]:
    """Return each container's name and what it runs."""
    containers = kubectl.pod(plan(*targets), suspend=suspend).containers
    return [" ".join([each["name"], *each["command"], *each["args"]]) for each in containers]


def built() -> list[dict]:
    """Return what a policy with this actuator yields."""
    config = POLICY + "  actuator:\n    type: Kubectl\n    imagePullSecrets: [pull]\n"
    return call(wire(config=config)).objects


def test_a_container_for_each_namespace_and_kind() -> None:
    """With every name in one command, and each resource by its group."""
    tail = '--type=merge --field-manager=krm-windows -p {"spec":{"suspend":true}}'
    assert commands(WEB, SHOP, INFRA, APPS) == [
        (
            f"kustomizations-flux-system kubectl patch kustomizations.{KUSTOMIZE} apps infra -n "
            f"flux-system {tail}"
        ),
        f"helmreleases-shop kubectl patch helmreleases.v2.{HELM} web -n shop {tail}",
        f"kustomizations-shop kubectl patch kustomizations.{KUSTOMIZE} apps -n shop {tail}",
    ]


def test_opening_writes_false() -> None:
    """Never null: Flux takes both for the same, but a person reads it."""
    [command] = commands(APPS, suspend=False)
    assert command.endswith('-p {"spec":{"suspend":false}}')


def test_the_field_is_that_of_the_kind() -> None:
    """Whatever its path, and without a group for what is in the core group."""
    other = Target(
        group="",
        resource="things",
        kind="Thing",
        namespace="a",
        name="b",
        field=("spec", "x", "paused"),
    )
    [command] = commands(other)
    assert command.startswith("things-a kubectl patch things b -n a ")
    assert command.endswith('{"spec":{"x":{"paused":true}}}')


def test_containers_have_names_of_their_own() -> None:
    """Two kinds of one plural get a hash, and a long namespace is cut."""
    clusters = [
        Target(group=group, resource="clusters", kind="Cluster", namespace="n" * 63, name="c")
        for group in ("cluster.x-k8s.io", "clusters.example.org")
    ]
    names = [each["name"] for each in kubectl.pod(plan(*clusters), suspend=True).containers]
    assert len(set(names)) == 2
    assert all(len(name) <= 63 for name in names)


def test_only_edges_and_rights_are_emitted() -> None:
    """No program, no timetable, nothing that runs it."""
    kinds = [item["kind"] for item in built()]
    held = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    assert kinds == [*held, "ServiceAccount", "Role", "RoleBinding", "CronJob", "CronJob"]


def test_the_cron_jobs() -> None:
    """Each starts and ends before the next edge, on a pinned image."""
    closing, opening = (item["spec"] for item in built() if item["kind"] == "CronJob")
    assert (opening["schedule"], closing["schedule"]) == ("0 8 * * 1", "0 17 * * 4")
    for spec, value in ((opening, False), (closing, True)):
        job = spec["jobTemplate"]["spec"]
        assert (spec["timeZone"], spec["concurrencyPolicy"]) == ("Europe/Berlin", "Forbid")
        assert spec["startingDeadlineSeconds"] == job["activeDeadlineSeconds"] == 300
        pod = job["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        [volume] = pod["volumes"]
        [container] = pod["containers"]
        assert [mount["name"] for mount in container["volumeMounts"]] == [volume["name"]]
        assert container["image"] == "ghcr.io/fluxcd/flux-cli:v2.9.5"
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert json.loads(container["args"][-1]) == {"spec": {"suspend": value}}


def test_uninstalling_opens_once() -> None:
    """Nothing marks what was closed, so everything is opened."""
    [*_, job] = emit.objects(plan(APPS))
    assert job["kind"] == "Job"
    [container] = job["spec"]["template"]["spec"]["containers"]
    assert container["args"][-1] == '{"spec":{"suspend":false}}'
