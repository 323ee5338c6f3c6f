"""Every rule of the audit has a policy that breaks it, and one that nearly does.

Both are audited from 2027 on.
"""

import re
from datetime import date
from pathlib import Path

import pytest

from krm_windows.checks.audit import Scope
from krm_windows.fleet import audit
from krm_windows.inventory import no_resources
from krm_windows.krm import KubeObject
from krm_windows.preview.versions import Choice
from krm_windows.rules import RULES, Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
CHECKS = Path(__file__).parents[3] / "krm_windows/checks"
MODULES = ("admission.py", "windows.py", "closures.py", "clock_edges.py", "images.py")
NAMED = {
    name
    for module in MODULES
    for name in re.findall(r"rules\.([A-Z_]+)", (CHECKS / module).read_text())
}
AUDIT_RULES = [rule for rule in RULES if rule.id.replace("-", "_").upper() in NAMED]
FROM_2027 = Scope(date(2027, 1, 1))


def fired(rule: Rule, name: str) -> set[str]:
    document = FIXTURES / rule.id / f"{name}.yaml"
    policy = KubeObject.parse(document.read_bytes())
    [report] = audit.reports(policy, no_resources, Choice(), FROM_2027)
    return {result.tags["rule"] for result in report.results}


@pytest.mark.parametrize("rule", AUDIT_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone(rule: Rule) -> None:
    assert fired(rule, "fires") == {rule.id}


@pytest.mark.parametrize("rule", AUDIT_RULES, ids=lambda rule: rule.id)
def test_a_rule_nearly_fires(rule: Rule) -> None:
    assert fired(rule, "nearly") == set()


def test_constants_are_named_as_their_rules() -> None:
    assert {rule.id for rule in AUDIT_RULES} == {name.lower().replace("_", "-") for name in NAMED}
