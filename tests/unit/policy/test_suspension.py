"""What true in a field means to reconciliation must be beyond doubt: closing writes true."""

import pytest
from calls import loaded, spec

THING = "kind: Thing, names: [it], apiVersion: example.org/v1, resource: things"
KNOWN = "kind: Kustomization, names: [it], apiVersion: kustomize.toolkit.fluxcd.io/v1"
CLOSED = "trueMeans: Closed"
FIELD, MEANING = "suspendField", "trueMeans"


@pytest.mark.parametrize("listed", ["targets", "released"])
@pytest.mark.parametrize(
    ("target", "rule", "field"),
    [
        # Only who knows the kind can say it: true in `enabled` would switch it on.
        (f"{THING}, suspendField: spec.sync.enabled", "suspend-field", FIELD),
        (f"{THING}, suspendField: spec.sync.enabled, {CLOSED}", None, None),
        # A field whose true opens cannot be gated, so there is no way to ask for it.
        (f"{THING}, suspendField: spec.x, trueMeans: Open", "field-value", MEANING),
        # `spec.prune` of a Kustomization stops nothing.
        (f"{KNOWN}, suspendField: spec.prune, {CLOSED}", "suspend-field", FIELD),
        (f"{KNOWN}, suspendField: spec.suspend, {CLOSED}", None, None),
    ],
)
def test_what_true_means(listed: str, target: str, rule: str | None, field: str | None) -> None:
    found = [(each.rule, each.path) for each in loaded(spec(**{listed: f"[{{{target}}}]"})).results]
    assert found == ([(rule, f"spec.{listed}[0].{field}")] if rule else [])
