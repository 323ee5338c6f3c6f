"""Which objects a policy gates, and what speaks against gating them."""

import json
from typing import Any

import pytest
from calls import APPS, call, spec, wire

SOURCE = "source.toolkit.fluxcd.io/v1"
HELM = "helm.toolkit.fluxcd.io/v2"
LIVE = "annotations: {krm-windows.dev/change-class: live}"
RENAMED = "annotations: {internal.config.kubernetes.io/previousNames: 'old,apps'}"


def item(api: str, kind: str, name: str, body: str = "{}", meta: str = "labels: {}") -> str:
    metadata = f"  name: {name}\n  namespace: flux-system\n  {meta}\n"
    return f"apiVersion: {api}\nkind: {kind}\nmetadata:\n{metadata}spec: {body}\n"


def rules(items: list[str], **fields: str) -> list[str]:
    return call(wire(*items, config=spec(**fields))).rules


def gated(*items: str, config: str) -> list[dict[str, Any]]:
    [found] = call(wire(*items, config=config)).of("ConfigMap")
    return list(json.loads(found["data"]["timetable.json"])["targets"])


RELEASE = item(HELM, "HelmRelease", "web")
CLOSED = "trueMeans: Closed"
OWN = "apiVersion: example.org/v1, resource: resourcesets"
CRON = "{schedule: '* * * * *', startingDeadlineSeconds: 9}"


@pytest.mark.parametrize(
    ("target", "items", "want"),
    [
        # Names that are not there: an error where some of the kind are seen, or on demand.
        ("kind: Kustomization, names: [infra]", [APPS], ["target-missing"]),
        ("kind: Kustomization, names: [infra], mustExist: false", [APPS], []),
        ("kind: Kustomization, names: [infra], mustExist: true", [RELEASE], ["target-missing"]),
        ("kind: Kustomization, names: [infra]", [RELEASE], ["target-unseen"]),
        # Labels have to match something, seen or not.
        ("kind: Kustomization, matchLabels: {team: a}", [], ["target-unmatched"]),
        # What Flux never reconciles, or Kubernetes runs all the same, cannot be held.
        (
            "kind: HelmRepository, names: [r]",
            [item(SOURCE, "HelmRepository", "r", "{type: oci}")],
            ["target-refused", "source-needs-network"],
        ),
        (
            "kind: Kustomization, names: [apps]",
            [APPS.replace("metadata:\n", f"metadata:\n  {RENAMED}\n")],
            ["target-renamed"],
        ),
        # What has no field that could hold it.
        ("kind: Provider, names: [p]", [], ["target-refused"]),
        (f"kind: X, names: [r], mustExist: false, {OWN}, suspendField: spec.a, {CLOSED}", [], []),
    ],
)
def test_what_speaks_against_a_target(target: str, items: list[str], want: list[str]) -> None:
    assert rules(items, targets=f"[{{{target}}}]") == want


@pytest.mark.parametrize(
    ("source", "user", "body"),
    [
        ("GitRepository", ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"), "{sourceRef: @}"),
        ("HelmRepository", (HELM, "HelmRelease"), "{chart: {spec: {sourceRef: @}}}"),
        ("OCIRepository", (HELM, "HelmRelease"), "{chartRef: @}"),
    ],
)
def test_a_source_that_something_live_uses_is_not_gated(
    source: str, user: tuple[str, str], body: str
) -> None:
    api, kind = user
    items = [item(SOURCE, source, "a")]
    targets = f"[{{kind: {source}, names: [a]}}]"
    here = body.replace("@", f"{{kind: {source}, name: a}}")
    elsewhere = body.replace("@", f"{{kind: {source}, name: a, namespace: b}}")
    assert rules([*items, item(api, kind, "u", here)], targets=targets) == ["source-needs-network"]
    assert rules([*items, item(api, kind, "u", elsewhere, LIVE)], targets=targets) == [
        "source-needs-network"
    ]
    assert rules([*items, item(api, kind, "u", here, LIVE)], targets=targets) == [
        "source-shared",
        "source-needs-network",
    ]


def test_labels_choose_what_has_all_of_them() -> None:
    both, one = "labels: {team: a, tier: web}", "labels: {team: a}"
    kind = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
    items = [item(*kind, "z", meta=both), item(*kind, "y", meta=one), item(*kind, "b", meta=both)]
    targets = "[{kind: Kustomization, matchLabels: {team: a, tier: web}}]"
    [found] = gated(*items, config=spec(targets=targets))
    [[_, *names]] = found["objects"]
    assert names == ["b", "z"]


@pytest.mark.parametrize(
    ("released", "want"),
    [
        ("[{kind: Kustomization, names: [apps]}]", ["target-duplicate"]),
        ("[{kind: Kustomization, names: [gone]}]", []),
        ("[{kind: Kustomization, matchLabels: {a: b}}]", ["target-unmatched"]),
        # It could not be opened either.
        ("[{kind: Provider, names: [p]}]", ["target-refused"]),
    ],
)
def test_what_is_released(released: str, want: list[str]) -> None:
    assert rules([APPS], released=released) == want


@pytest.mark.parametrize(
    ("said", "group", "resource", "field"),
    [
        # What it does not say is as in the table of kinds.
        ("", "kustomize.toolkit.fluxcd.io", "kustomizations", None),
        ("resource: overlays", "kustomize.toolkit.fluxcd.io", "overlays", None),
        (f"{OWN}, suspendField: spec.a.b, {CLOSED}", "example.org", "resourcesets", "spec.a.b"),
    ],
)
def test_a_kind_as_the_policy_describes_it(
    said: str, group: str, resource: str, field: str | None
) -> None:
    targets = f"[{{kind: Kustomization, names: [apps], mustExist: false, {said}}}]"
    [found] = gated(config=spec(targets=targets))
    assert (found["group"], found["resource"]) == (group, resource)
    assert found.get("field") == (field.split(".") if field else None)
