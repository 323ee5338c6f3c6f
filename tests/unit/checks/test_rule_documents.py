"""Every rule has a document that breaks it and one that nearly does.

Those of plan and stream are ResourceLists.
"""

import json
import re
from pathlib import Path

import pytest
from calls import call

from krm_windows import rules
from krm_windows.checks import readonly
from krm_windows.emit import configmap
from krm_windows.function import window_policy
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import ResourceList
from krm_windows.plan import zone_rules
from krm_windows.plan.timetable import dump
from krm_windows.rules import RULES, Rule

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
OF_REPOSITORIES = RULES[RULES.index(rules.BUILD_FAILED) : RULES.index(rules.SOURCE_MOVES) + 1]
PROGRAM = "".join(
    f"    {key}: {json.dumps(source)}\n" for key, source in configmap.program().items()
)
BERLIN = Timetable(
    policy="a/b", time_zone="Europe/Berlin", zone_rules=zone_rules.make("Europe/Berlin")
)
ZONE_RULES = json.dumps(dump(BERLIN)["zoneRules"])
HEAD = "apiVersion: config.kubernetes.io/"
# A gated source is always worth a word, and so is the actuator Kubectl.
BESIDE = {rules.SOURCE_SHARED.id: {rules.SOURCE_NEEDS_NETWORK.id}} | {
    rule.id: {rules.KUBECTL_RESUMES_ALL.id}
    for rule in (
        rules.KUBECTL_UNION,
        rules.KUBECTL_DEADLINE,
        rules.KUBECTL_CLOCK_CHANGE,
        rules.KUBECTL_ZONE,
    )
}


def document(rule: Rule, name: str) -> str:
    """Return the text of a rule's document, with program and zone rules.

    It is empty where there is none.
    """
    path = FIXTURES / rule.id / f"{name}.yaml"
    text = path.read_text() if path.exists() else ""
    text = text.replace(
        '"timeZone": "Europe/Berlin",', f'"timeZone": "Europe/Berlin", "zoneRules": {ZONE_RULES},'
    )
    return text.replace("  data:\n    timetable.json:", f"  data:\n{PROGRAM}    timetable.json:")


# A fault of ours has no document: test_P11 fires it. One that is too large would be: test_capacity
# fires it. What only a repository shows is in test_repository_documents, and what only a tree of
# many clusters does in test_fleet; what was rendered and is stale is in test_rendered.
# How the output is delivered is no part of a stream: test_new_cluster.
ELSEWHERE = (
    rules.INTERNAL,
    rules.TOO_LARGE,
    rules.CLUSTER_DROPPED,
    rules.WINDOWS_STALE,
    rules.WINDOWS_UNCHECKED,
    rules.DELIVERED_TOGETHER,
    *OF_REPOSITORIES,
)
DOCUMENTED = [rule for rule in RULES if rule not in ELSEWHERE]
STREAM_RULES = [rule for rule in DOCUMENTED if document(rule, "fires").startswith(HEAD)]


def fired(rule: Rule, name: str) -> set[str]:
    """Call the function on a document, or `render` for a rule of its own.

    Gives the rules that fired.
    """
    if rule is not rules.RENDER_READ_ONLY:
        said = call(document(rule, name), LOG_TO_STDERR="true").err
        return set(re.findall(r"\(([a-z-]+)\)$", said, re.MULTILINE))
    resources = ResourceList.read(document(rule, name).encode())
    assert resources.function_config
    compiled = window_policy.compile_onto(resources.function_config, resources.items)
    return {result.tags["rule"] for result in readonly.check(compiled.results, compiled.adopted)}


@pytest.mark.parametrize("rule", STREAM_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone(rule: Rule) -> None:
    """The document breaks this rule and no other."""
    assert fired(rule, "fires") - BESIDE.get(rule.id, set()) == {rule.id}


@pytest.mark.parametrize("rule", STREAM_RULES, ids=lambda rule: rule.id)
def test_a_rule_nearly_fires(rule: Rule) -> None:
    """The smallest change makes the document right."""
    assert fired(rule, "nearly") - BESIDE.get(rule.id, set()) == set()


def test_every_rule_has_both_documents_and_every_folder_a_rule() -> None:
    """A rule without a document that fires it may be dead, a folder without a rule is."""
    found = {
        path.name: {document.name for document in path.iterdir()} for path in FIXTURES.iterdir()
    }
    assert found == {rule.id: {"fires.yaml", "nearly.yaml"} for rule in DOCUMENTED}
