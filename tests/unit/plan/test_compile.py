"""A policy as a plan: its rules, its rights, and what is left of it when it is uninstalled."""

from datetime import datetime, time

from calls import APPS, loaded, spec

from krm_windows import inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds, uninstall
from krm_windows.plan.model import Plan
from krm_windows.schedule.timetable import Kind

HOOKS = "{namespace: line, afterClose: {image: 'registry.example.org/a:1', timeout: 1m}}"
OVERRIDES = """
late: {state: Open, starts: '2027-01-01T09:00', ends: '12:00', reason: r}
now: {state: Closed, ends: '2027-01-02T10:00', reason: q}
"""


def plan(*items: str, **fields: str) -> Plan:
    policy, results = loaded(spec(**fields)).for_cluster(None)
    assert results == ()
    assert policy is not None
    objects = [KubeObject.parse(item.encode()) for item in items]
    compiled, _ = compile_policy(policy, None, inventory.take(objects, kinds(policy)))
    return compiled


def test_rules_in_the_order_of_their_names() -> None:
    text = "{starts: '2026-12-20', ends: '2026-12-24', reason: %s}"
    freezes = f"{{b: {text % 'two'}, a: {text % 'one'}}}"
    timetable = plan(APPS, overrides=OVERRIDES, freezes=freezes).timetable
    assert [(each.key, each.reason) for each in timetable.freezes] == [("a", "one"), ("b", "two")]
    late, now = timetable.overrides
    assert (late.kind, late.key, late.state) == (Kind.OVERRIDE, "late", "Open")
    assert (late.begins, late.ends) == (datetime(2027, 1, 1, 9), time(12))
    assert (now.key, now.state, now.begins, now.reason) == ("now", "Closed", None, "q")


def test_what_uninstalls() -> None:
    fields = {
        "hooks": HOOKS,
        "extras": "[StateMetrics]",
        "released": "[{kind: Kustomization, names: [old], mustExist: false}]",
    }
    whole = plan(APPS, **fields)
    assert {each.namespace for each in whole.rights} == {"flux-system", "line"}
    left = uninstall(whole)
    assert left.timetable.state == "Open"
    assert (left.timetable.targets, left.triggers, left.hooks) == ((), (), None)
    assert [each.name for each in left.timetable.released] == ["apps", "old"]
    assert {each.namespace for each in left.rights} == {"flux-system"}
    assert not left.extras


def test_schedules_are_repeated_as_written() -> None:
    window = (
        "{w: {opens: '0 8 * * MON', closes: 'Fri 17:00', cronJobs: {open: mine, close: other}}}"
    )
    triggers = plan(APPS, windows=window).triggers
    named = {each.given: each.schedule for each in triggers if each.given}
    assert named == {"mine": "0 8 * * MON", "other": "0 17 * * 5"}
