"""Every rule has a document that breaks it and no other, and one that nearly does.

Those of plan and stream are ResourceLists, those of the audit policies, audited from 2027 on.
"""

import json
import re
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path

import pytest
import zoned
from calls import call

from krm_windows import rules
from krm_windows.checks import policy_changes, readonly
from krm_windows.checks.audit import Scope
from krm_windows.emit import configmap
from krm_windows.fleet import audit
from krm_windows.function import window_policy
from krm_windows.gate.timetable import Target
from krm_windows.inventory import no_resources
from krm_windows.krm import KubeObject, ResourceList, documents
from krm_windows.plan.timetable import dump
from krm_windows.preview.successions import successions
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.results import Result
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
# How the output is delivered is no part of a stream: test_new_cluster; a change, of test_set.
ELSEWHERE = (
    rules.INTERNAL,
    rules.TOO_LARGE,
    rules.TABLE_ENDS,
    rules.CLUSTER_ADDED,
    rules.CLUSTER_DROPPED,
    rules.WINDOWS_STALE,
    rules.WINDOWS_UNCHECKED,
    rules.DELIVERED_TOGETHER,
    *OF_REPOSITORIES,
)
DOCUMENTED = [rule for rule in RULES if rule not in ELSEWHERE]
# Of these, a document is the policy before a change, and the one after it.
CHANGES = (rules.FORMER_NAME, rules.TARGET_DROPPED)
AUDITED = RULES[RULES.index(rules.WINDOW_NEVER_OPENS) : RULES.index(rules.ADMISSION_DISABLED) + 1]
STREAMS = [rule for rule in DOCUMENTED if document(rule, "fires").startswith(HEAD)]
FROM_2027 = Scope(date(2027, 1, 1), years=1)


def fired(rule: Rule, name: str) -> set[str]:
    text = document(rule, name)
    results: Iterable[Result]
    if rule in CHANGES:
        old, new = documents(text.encode())
        results = successions(PolicySource(old), PolicySource(new), None)[1]
    elif rule in AUDITED:
        policy = KubeObject.parse(text.encode())
        [report] = audit.reports(policy, no_resources, Choice(), FROM_2027)
        results = report.results
    elif rule is rules.RENDER_READ_ONLY:
        resources = ResourceList.read(text.encode())
        assert resources.function_config
        compiled = window_policy.compile_onto(resources.function_config, resources.items)
        results = readonly.refused(compiled.results, compiled.adopted)
    else:
        said = call(text, LOG_TO_STDERR="true").err
        return set(re.findall(r"\(([a-z-]+)\)$", said, re.MULTILINE))
    return {result.tags["rule"] for result in results}


@pytest.mark.parametrize("rule", [*STREAMS, *AUDITED, *CHANGES], ids=lambda rule: rule.id)
def test_a_rule_fires_alone_and_nearly_does_not(rule: Rule) -> None:
    beside = BESIDE.get(rule.id, set())
    assert fired(rule, "fires") - beside == {rule.id}
    assert fired(rule, "nearly") - beside == set()


def test_every_rule_has_both_documents_and_every_folder_a_rule() -> None:
    found = {
        path.name: {document.name for document in path.iterdir()} for path in FIXTURES.iterdir()
    }
    assert found == {rule.id: {"fires.yaml", "nearly.yaml"} for rule in DOCUMENTED}


def test_what_was_held_open_leaves_nothing_shut() -> None:
    target = Target(group="g", resource="things", kind="Thing", namespace="default", name="one")
    old = zoned.timetable(policy="default/old", time_zone="UTC", targets=(target,))
    new = zoned.timetable(policy="default/new", time_zone="UTC")
    assert len(list(policy_changes.left_closed(old, new))) == 2
    assert not list(policy_changes.left_closed(old._replace(state="Open"), new))
