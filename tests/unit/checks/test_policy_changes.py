"""What a change of a policy must not forget.

Each rule has two documents, the older policy and the newer.
"""

from pathlib import Path

import pytest
import zoned

from krm_windows import rules
from krm_windows.checks import policy_changes
from krm_windows.gate.timetable import Target
from krm_windows.krm import documents
from krm_windows.preview.successions import successions
from krm_windows.preview.versions import Source
from krm_windows.rules import Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
RULES = [rules.FORMER_NAME, rules.TARGET_DROPPED]


def fired(rule: Rule, name: str) -> list[str]:
    old, new = documents((FIXTURES / rule.id / f"{name}.yaml").read_bytes())
    _, results = successions(Source(old), Source(new), None)
    return [result.tags["rule"] for result in results]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone(rule: Rule) -> None:
    assert fired(rule, "fires") == [rule.id]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_nearly_fires(rule: Rule) -> None:
    assert fired(rule, "nearly") == []


def test_what_was_held_open_leaves_nothing_shut() -> None:
    target = Target(group="g", resource="things", kind="Thing", namespace="default", name="one")
    old = zoned.timetable(policy="default/old", time_zone="UTC", targets=(target,))
    new = zoned.timetable(policy="default/new", time_zone="UTC")
    assert len(list(policy_changes.left_closed(old, new))) == 2
    assert not list(policy_changes.left_closed(old._replace(state="Open"), new))
