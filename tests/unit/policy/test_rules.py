"""Every rule that the policy itself can break: a document that does, and one that nearly does."""

import re
from pathlib import Path

import pytest
from calls import broken

from krm_windows.rules import RULES, Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
MODULES = Path(__file__).parents[3] / "krm_windows/policy"
NAMED = {
    name
    for module in MODULES.glob("*.py")
    for name in re.findall(r"rules\.([A-Z_]+)", module.read_text())
}
POLICY_RULES = [rule for rule in RULES if rule.id.replace("-", "_").upper() in NAMED]


@pytest.mark.parametrize("rule", POLICY_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone(rule: Rule) -> None:
    """Only a misspelt field lacks what it was meant to be, too."""
    also = {"end-choice"} if rule.id == "field-unknown" else set()
    fires, nearly = (
        (FIXTURES / rule.id / f"{name}.yaml").read_text() for name in ("fires", "nearly")
    )
    assert set(broken(fires)) - also == {rule.id}
    assert broken(nearly) == []


def test_ids_are_unique_and_kebab_case() -> None:
    """An id is part of the API: people match on it."""
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in ids)


def test_constants_are_named_as_their_rules() -> None:
    assert {rule.id for rule in POLICY_RULES} == {name.lower().replace("_", "-") for name in NAMED}
