"""Every rule of a migration has a repository that breaks it, and one that nearly does."""

from pathlib import Path

import pytest
import yaml
from repositories import rules, run

from krm_windows.rules import RULES, Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
MIGRATION_RULES = [rule for rule in RULES if rule.id.startswith("migrate-")]


def fired(rule: Rule, name: str) -> set[str]:
    document = yaml.safe_load((FIXTURES / rule.id / f"{name}.yaml").read_text())
    return set(rules(run(document["repository"])))


@pytest.mark.parametrize("rule", MIGRATION_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone_and_nearly_not(rule: Rule) -> None:
    assert fired(rule, "fires") == {rule.id}
    assert fired(rule, "nearly") == set()
