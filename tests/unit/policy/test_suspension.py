"""Whether true in a field stops reconciliation.

Closing writes true, so what it means must be beyond doubt.
"""

import pytest

from krm_windows.krm import KubeObject
from krm_windows.policy.load import load

POLICY = """
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: a, namespace: b}
spec:
  timeZone: Europe/Berlin
  windows: {week: {opens: Mon 08:00, closes: Thu 17:00}}
  targets:
    - {kind: KIND, names: [it], apiVersion: example.org/v1, resource: things, FIELDS}
"""


def rules(kind: str, fields: str) -> list[str]:
    """Give the rules that a policy with such a target breaks."""
    text = POLICY.replace("KIND", kind).replace("FIELDS", fields)
    return [result.tags["rule"] for result in load(KubeObject.parse(text.encode()).node).results]


@pytest.mark.parametrize("field", ["suspend", "rollout.paused", "sync.enabled"])
def test_what_true_means_has_to_be_said(field: str) -> None:
    """By whoever knows the kind: closing writes true, which may switch it on."""
    assert rules("Thing", f"suspendField: spec.{field}") == ["suspend-field"]
    assert rules("Thing", f"suspendField: spec.{field}, trueMeans: Closed") == []


def test_only_closed_can_be_said() -> None:
    """A field whose true opens cannot be gated, so there is no way to ask for it."""
    assert rules("Thing", "suspendField: spec.x, trueMeans: Open") == ["field-value"]


@pytest.mark.parametrize("list_name", ["targets", "released"])
def test_former_targets_are_held_to_it_too(list_name: str) -> None:
    """What is opened for good is written to as well."""
    bad = (
        "    - {kind: Thing, names: [it], apiVersion: example.org/v1, resource: things, "
        "suspendField: spec.enabled}\n"
    )
    other = "released" if list_name == "targets" else "targets"
    head = POLICY.partition("  targets:")[0]
    text = f"{head}  {other}: [{{kind: CronJob, names: [a]}}]\n  {list_name}:\n{bad}"
    found = load(KubeObject.parse(text.encode()).node).results
    assert [result.tags["rule"] for result in found] == ["suspend-field"]
    assert found[0].field is not None
    assert found[0].field.path == f"spec.{list_name}[0].suspendField"


def test_a_known_kind_has_its_own_field() -> None:
    """`spec.prune` of a Kustomization stops nothing."""
    target = "kind: Kustomization, names: [it], apiVersion: kustomize.toolkit.fluxcd.io/v1"
    text = POLICY.partition("    - {")[0]
    for field, wanted in (("spec.prune", ["suspend-field"]), ("spec.suspend", [])):
        document = f"{text}    - {{{target}, suspendField: {field}, trueMeans: Closed}}\n"
        found = load(KubeObject.parse(document.encode()).node).results
        assert [result.tags["rule"] for result in found] == wanted
