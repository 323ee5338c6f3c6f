"""Whether true in a field stops reconciliation.

Closing writes true, so what it means must be beyond doubt.
"""

import pytest

from krm_windows.krm import KubeObject
from krm_windows.policy.load import load
from krm_windows.policy.suspension import Meaning, meaning

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

CLOSES = (
    "suspend",
    "suspended",
    "paused",
    "rollout.paused",
    "off",
    "disabled",
    "suspend.enabled",
    "pause.active",
    "rollout.disabled",
    "syncPolicy.automated.disabled",
)
ALSO_CLOSES = (
    "pauseReconciliation",
    "syncDisabled",
    "reconcileSuspended",
    "rollout.updatePaused",
    "stopped",
)
OPENS = (
    "enabled",
    "active",
    "syncPolicy.automated.enabled",
    "syncPolicy.automated",
    "autoSync",
    "allowUpdates",
)
ALSO_OPENS = (
    "sync.on",
    "running",
    "reconcile",
    "unpaused",
    "resume",
    "autoDeploy",
    "deploy.enable",
    "enableSync",
    "suspend.disabled",
    "pause.off",
    "freeze.inactive",
)
UNKNOWN = (
    "webhook.disabled",
    "maintenance.off",
    "maintenance.enabled",
    "notPaused",
    "pauseEnabled",
    "allowPause",
    "disableSuspend",
    "prune",
    "mode",
)
ALSO_UNKNOWN = (
    "suspendDeletion",
    "disableAutoSync",
    "skipReconcile",
    "noSync",
    "x",
    "A",
    "stopOff",
    "on.x",
)


def rules(kind: str, fields: str) -> list[str]:
    """Give the rules that a policy with such a target breaks."""
    text = POLICY.replace("KIND", kind).replace("FIELDS", fields)
    return [result.tags["rule"] for result in load(KubeObject.parse(text.encode()).node).results]


@pytest.mark.parametrize("field", [*CLOSES, *ALSO_CLOSES])
def test_a_field_that_stops_is_taken(field: str) -> None:
    """Its name leaves no doubt, and so nothing has to be said."""
    assert meaning(f"spec.{field}") is Meaning.CLOSES
    assert rules("Thing", f"suspendField: spec.{field}") == []


@pytest.mark.parametrize("field", [*OPENS, *ALSO_OPENS])
def test_a_field_that_has_it_go_on_is_refused(field: str) -> None:
    """Closing would switch it on; and nobody's word makes that another."""
    assert meaning(f"spec.{field}") is Meaning.OPENS
    assert rules("Thing", f"suspendField: spec.{field}") == ["suspend-field"]
    assert rules("Thing", f"suspendField: spec.{field}, trueMeans: Closed") == ["suspend-field"]


@pytest.mark.parametrize("field", [*UNKNOWN, *ALSO_UNKNOWN])
def test_what_a_name_does_not_say_has_to_be_given(field: str) -> None:
    """By whoever knows the kind."""
    assert meaning(f"spec.{field}") is Meaning.UNKNOWN
    assert rules("Thing", f"suspendField: spec.{field}") == ["suspend-field"]
    assert rules("Thing", f"suspendField: spec.{field}, trueMeans: Closed") == []


def test_only_closed_can_be_said() -> None:
    """A field whose true opens cannot be gated, so there is no way to ask for it."""
    assert rules("Thing", "suspendField: spec.x, trueMeans: Open") == [
        "suspend-field",
        "field-value",
    ]


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
