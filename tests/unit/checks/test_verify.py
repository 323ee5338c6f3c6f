"""What a layer above may do to the output of the function, and what `verify` says of it."""

from collections.abc import Callable

import pytest
import yaml
from calls import APPS, POLICY, call, spec, wire

from krm_windows.function import window_policy
from krm_windows.krm import KubeObject, ResourceList

Item = dict[str, dict]
Layer = Callable[[list[Item]], object]

WEB = APPS.replace("kustomize.toolkit.fluxcd.io/v1", "helm.toolkit.fluxcd.io/v2").replace(
    "Kustomization", "HelmRelease"
)
WEB = WEB.replace("name: apps", "name: web").replace("namespace: flux-system", "namespace: shop")
TARGETS = (
    "[{kind: Kustomization, names: [apps]}, {kind: HelmRelease, names: [web], namespace: shop}]"
)
CONFIG = spec(
    admissionPolicy="Disabled",
    crossNamespaceTargets="Allow",
    targets=TARGETS,
    released="[{kind: Kustomization, names: [old]}]",
)


def built(config: str = CONFIG) -> list[Item]:
    answer = call(wire(APPS, WEB, config=config))
    assert answer.code == 0, answer.err
    return answer.objects


def found(items: list[Item], config: str = CONFIG) -> set[str]:
    stream = [KubeObject.from_value(item) for item in items]
    return {
        result.tags["rule"]
        for result in window_policy.verify(KubeObject.parse(config.encode()), stream)
    }


def of(items: list[Item], *kinds: str) -> list[Item]:
    return [item for item in items if item["kind"] in kinds]


def drop(kind: str) -> Layer:
    return lambda items: [items.remove(item) for item in of(items, kind)]


def move(namespace: str) -> Layer:
    def layer(items: list[Item]) -> None:
        for item in of(
            items, "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob", "Job"
        ):
            item["metadata"]["namespace"] = namespace
            for subject in item.get("subjects", []):
                subject["namespace"] = namespace

    return layer


def prefix(items: list[Item]) -> None:
    for item in of(items, "ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob", "Job"):
        item["metadata"]["name"] = f"north-{item['metadata']['name']}"
        for subject in [
            *item.get("subjects", []),
            *([item["roleRef"]] if "roleRef" in item else []),
        ]:
            subject["name"] = f"north-{subject['name']}"
    for pod in pods(items):
        pod["serviceAccountName"] = f"north-{pod['serviceAccountName']}"
        pod["volumes"][0]["configMap"]["name"] = f"north-{pod['volumes'][0]['configMap']['name']}"


def pods(items: list[Item]) -> list[dict]:
    jobs = [item["spec"] for item in of(items, "Job")]
    jobs += [item["spec"]["jobTemplate"]["spec"] for item in of(items, "CronJob")]
    return [job["template"]["spec"] for job in jobs]


def change(kind: str, *path: object, to: object) -> Layer:
    def layer(items: list[Item]) -> None:
        for item in of(items, kind):
            place = item
            if path[0] not in item:
                continue  # a ConfigMap for the note of hooks
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = to

    return layer


def widen(items: list[Item]) -> None:
    rule = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": ["a"],
        "verbs": ["get", "patch"],
    }
    of(items, "Role")[0]["rules"].append(rule)


def unname(items: list[Item]) -> None:
    del of(items, "Role")[0]["rules"][0]["resourceNames"]


@pytest.mark.parametrize(
    ("layer", "rules"),
    [
        (lambda _: None, set()),
        (prefix, set()),
        (drop("CronJob"), {"emitted-missing"}),
        (drop("ConfigMap"), {"emitted-missing", "reference-broken"}),
        (drop("ServiceAccount"), {"reference-broken", "rights-missing"}),
        (drop("Role"), {"rights-missing"}),
        (move("edge"), {"rights-missing"}),
        (change("CronJob", "spec", "suspend", to=True), {"emitted-missing"}),
        (change("CronJob", "spec", "schedule", to="0 0 1 1 *"), {"emitted-missing"}),
        (change("ConfigMap", "data", "timetable.json", to="no JSON"), {"stale"}),
        (change("ConfigMap", "data", to=None), {"stale"}),
        (change("ConfigMap", "data", "gate.table.py", to="raise SystemExit(0)"), {"stale"}),
        (change("RoleBinding", "roleRef", "name", to="other"), {"rights-missing"}),
        (change("RoleBinding", "roleRef", "kind", to="ClusterRole"), {"rights-missing"}),
        (change("RoleBinding", "subjects", 0, "namespace", to="other"), {"rights-missing"}),
        (widen, {"rights-excess"}),
        (unname, {"rights-excess", "rights-missing"}),
        (change("Role", "rules", 0, "verbs", to=["*"]), {"rights-excess"}),
        (change("Kustomization", "spec", "suspend", to=True), {"target-suspend"}),
        (
            change(
                "Kustomization",
                "metadata",
                "annotations",
                to={"krm-windows.dev/governed-by": "a/b"},
            ),
            {"two-policies"},
        ),
        (lambda items: items.__delitem__(slice(2, None)), {"not-run"}),
        (drop("Kustomization"), {"target-unseen"}),
    ],
    ids=lambda value: "" if callable(value) else " ".join(sorted(value)) or "nothing",
)
def test_a_layer_above(layer: Layer, rules: set[str]) -> None:
    items = built()
    layer(items)
    assert found(items) == rules


IN_IMAGE = spec(
    admissionPolicy="Disabled",
    crossNamespaceTargets="Allow",
    targets=TARGETS,
    released="[{kind: Kustomization, names: [old]}]",
    actuator=f"{{program: Image, image: 'krm-windows:v1@sha256:{'0' * 64}'}}",
)


@pytest.mark.parametrize("config", [CONFIG, IN_IMAGE], ids=["ConfigMap", "Image"])
def test_the_program_is_where_the_policy_has_it(config: str) -> None:
    [other] = {CONFIG, IN_IMAGE} - {config}
    rendered = call(wire(APPS, WEB, config=other)).objects
    assert found(rendered, config) == {"stale"}
    again = call(wire(*map(yaml.safe_dump, rendered), config=config))
    assert found(again.objects, config) == set()
    maps = [item["metadata"]["name"] for item in of(again.objects, "ConfigMap")]
    assert maps == ["week-gate" if config == CONFIG else "week-gate-2"]


EXTRAS = CONFIG.replace(
    "admissionPolicy: Disabled", "extras: [NetworkPolicy, PrometheusRule, StateMetrics]"
)


@pytest.mark.parametrize(
    ("layer", "rules"),
    [
        (lambda _: None, set()),
        (drop("ValidatingAdmissionPolicy"), {"emitted-missing"}),
        (
            change("ValidatingAdmissionPolicyBinding", "spec", "validationActions", to=["Warn"]),
            {"emitted-missing"},
        ),
        (change("PrometheusRule", "spec", "groups", to=[]), {"emitted-missing"}),
        (prefix, {"reference-broken"}),
        (move("edge"), {"reference-broken", "rights-missing"}),
    ],
    ids=lambda value: "" if callable(value) else " ".join(sorted(value)) or "nothing",
)
def test_a_layer_above_extras(layer: Layer, rules: set[str]) -> None:
    items = built(EXTRAS)
    layer(items)
    assert found(items, EXTRAS) == rules


def test_a_lost_configmap_of_two() -> None:
    metrics = built(EXTRAS)
    gate, other = of(metrics, "ConfigMap")
    metrics.remove(gate)
    assert found(metrics, EXTRAS) == {"emitted-missing", "reference-broken"}
    metrics.append(gate)
    metrics.remove(other)
    assert found(metrics, EXTRAS) == {"emitted-missing"}


def test_another_policy_than_the_one_that_was_built() -> None:
    items = built()
    assert found(items, CONFIG.replace("Thu 17:00", "Thu 18:00")) == {"stale", "emitted-missing"}
    assert "rights-missing" in found(items, CONFIG.replace("- old", "- older"))
    assert found(items, CONFIG.replace("name: week", "name: month")) == {"not-run"}


def test_where_the_rights_went() -> None:
    items = built()
    move("edge")(items)
    stream = [KubeObject.from_value(item) for item in items]
    said = [
        result.message for result in window_policy.verify(KubeObject.parse(CONFIG.encode()), stream)
    ]
    right = "no bound Role there lets the gate get and patch helmreleases shop/web: "
    assert any(message.startswith(right) for message in said)
    # What is delivered by itself is in no stream of the windows.
    assert any("delivered by themselves (namespace-shop)" in message for message in said)


HOOKED = (
    CONFIG.rstrip("\n")
    + '\n  events: true\n  hooks: {namespace: line, afterClose: {image: "line:1"}}\n'
)


@pytest.mark.parametrize(
    ("layer", "rules"),
    [
        (lambda _: None, set()),
        (move("flux-system"), {"rights-missing", "rights-excess"}),
        (change("ConfigMap", "data", "hooks.json", to="{}"), {"stale"}),
        (change("ConfigMap", "data", "gate.hooks.py", to=""), {"stale"}),
        (lambda items: [item["rules"].pop(0) for item in of(items, "Role")], {"rights-missing"}),
        (
            lambda items: [
                each["rules"][0]["verbs"].append("delete") for each in of(items, "Role")
            ],
            {"rights-missing", "rights-excess"},
        ),
    ],
)
def test_hooks_and_events(layer: Layer, rules: set[str]) -> None:
    hooked = built(HOOKED)
    layer(hooked)
    assert found(hooked, HOOKED) == rules


def test_hooks_that_are_gone() -> None:
    assert found(built(HOOKED), CONFIG) == {"stale", "rights-excess"}


KUBECTL = POLICY + "  actuator: {type: Kubectl}\n"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("", "", ""),
        ("0 17 * * 4", "0 18 * * 4", "emitted-missing"),
        (r"{\"suspend\":true}", r"{\"suspend\":false}", "emitted-missing"),
        ('- apps\n              - "-n"', '- infra\n              - "-n"', "emitted-missing"),
        ("suspend: false\n    concurrency", "suspend: true\n    concurrency", "emitted-missing"),
        ("serviceAccountName: week-gate", "serviceAccountName: other", "reference-broken"),
    ],
    ids=["nothing", "schedule", "value", "target", "suspended", "account"],
)
def test_a_layer_above_edges_that_act(old: str, new: str, rule: str) -> None:
    rendered = call(wire(APPS, config=KUBECTL)).out.decode()
    assert old in rendered
    items = ResourceList.read(rendered.replace(old, new).encode()).items
    verified = window_policy.verify(KubeObject.parse(KUBECTL.encode()), items)
    expected = {rule, "kubectl-resumes-all"} if rule else {"kubectl-resumes-all"}
    assert {each.tags["rule"] for each in verified} == expected
