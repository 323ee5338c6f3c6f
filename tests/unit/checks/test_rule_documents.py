"""Every rule has a document that breaks it and one that nearly does.

Those of plan and stream are ResourceLists.
"""

import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from calls import call

from krm_windows import rules
from krm_windows.checks import readonly
from krm_windows.emit import configmap
from krm_windows.function import window_policy
from krm_windows.krm import ResourceList
from krm_windows.plan.timetable import dump
from krm_windows.rules import RULES, Rule
from krm_windows.schedule.timetable import Kind, Timetable
from krm_windows.schedule.timetable import Rule as Window

FIXTURES = Path(__file__).parents[2] / "fixtures/rules"
OF_REPOSITORIES = RULES[RULES.index(rules.BUILD_FAILED) : RULES.index(rules.SOURCE_MOVES) + 1]
PROGRAM = "".join(
    f"    {key}: {json.dumps(source)}\n" for key, source in configmap.program().items()
)
_OPEN_BUT_FOR = re.compile('"open but for": "([^/]*)/([^"]*)",')
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


def _days(times: re.Match[str]) -> str:
    begins, ends = map(datetime.fromisoformat, times.groups())
    freeze = Window(Kind.FREEZE, "christmas", begins, ends, "Quiet")
    form = dump(Timetable("a/b", "Europe/Berlin", outside_windows="Open", freezes=(freeze,)))
    keys = ("clocks", "reasons", "patterns", "days", "dates")
    return "".join(f"{json.dumps(key)}: {json.dumps(form[key])}, " for key in keys)


def document(rule: Rule, name: str) -> str:
    path = FIXTURES / rule.id / f"{name}.yaml"
    text = path.read_text() if path.exists() else ""
    text = _OPEN_BUT_FOR.sub(_days, text)
    return text.replace("  data:\n    timetable.json:", f"  data:\n{PROGRAM}    timetable.json:")


# A fault of ours has no document: test_P11 fires it. One that is too large would be: test_capacity
# fires it. What only a repository shows is in test_repository_documents, and what only a tree of
# many clusters does in test_fleet; what was rendered and is stale is in test_rendered.
# When the table of days ends is a matter of the day: test_audit.
# How the output is delivered is no part of a stream: test_new_cluster.
ELSEWHERE = (
    rules.INTERNAL,
    rules.TOO_LARGE,
    rules.TABLE_ENDS,
    rules.CLUSTER_DROPPED,
    rules.WINDOWS_STALE,
    rules.WINDOWS_UNCHECKED,
    rules.DELIVERED_TOGETHER,
    *OF_REPOSITORIES,
)
DOCUMENTED = [rule for rule in RULES if rule not in ELSEWHERE]
STREAM_RULES = [rule for rule in DOCUMENTED if document(rule, "fires").startswith(HEAD)]


def fired(rule: Rule, name: str) -> set[str]:
    if rule is not rules.RENDER_READ_ONLY:
        said = call(document(rule, name), LOG_TO_STDERR="true").err
        return set(re.findall(r"\(([a-z-]+)\)$", said, re.MULTILINE))
    resources = ResourceList.read(document(rule, name).encode())
    assert resources.function_config
    compiled = window_policy.compile_onto(resources.function_config, resources.items)
    return {result.tags["rule"] for result in readonly.refused(compiled.results, compiled.adopted)}


@pytest.mark.parametrize("rule", STREAM_RULES, ids=lambda rule: rule.id)
def test_a_rule_fires_alone(rule: Rule) -> None:
    assert fired(rule, "fires") - BESIDE.get(rule.id, set()) == {rule.id}


@pytest.mark.parametrize("rule", STREAM_RULES, ids=lambda rule: rule.id)
def test_a_rule_nearly_fires(rule: Rule) -> None:
    assert fired(rule, "nearly") - BESIDE.get(rule.id, set()) == set()


def test_every_rule_has_both_documents_and_every_folder_a_rule() -> None:
    found = {
        path.name: {document.name for document in path.iterdir()} for path in FIXTURES.iterdir()
    }
    assert found == {rule.id: {"fires.yaml", "nearly.yaml"} for rule in DOCUMENTED}
