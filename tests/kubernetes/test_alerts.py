"""The alerts of `extras`, checked and unit-tested with promtool.

That is, when each fires, and when it is quiet. What kube-state-metrics says is written here as
series, after its documentation: the program itself is published neither as a Debian package nor as
a Go module that could be built, so no test runs it.
"""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
import yaml
from calls import POLICY, call, wire

from krm_windows.gate.annotations import APART, Cause
from krm_windows.plan.timetable import LAST_DAY

RESYNC, OPENS, CLOSES, EDGE = (
    "week-resync",
    "week-open-office",
    "week-close-office",
    "week-edge-utc-06",
)
NAMESPACE = "flux-system"
NOW = "week-apply-0123456789"
EDGES = "  actuator: {type: Kubectl}\n"
HOOK = "  hooks: {namespace: line, beforeOpen: {image: 'line:1', timeout: 45m}}\n"
ON_MARKS = ("KrmWindowsReopened", "KrmWindowsClocksApart")
EXTRAS = "  extras: [PrometheusRule, StateMetrics]\n"
Series = dict[str, str]


@pytest.fixture(scope="module")
def rules() -> dict[str, object]:
    return emitted(POLICY + EXTRAS)


def emitted(policy: str) -> dict[str, object]:
    items = call(wire(config=policy)).objects
    [found] = (item["spec"] for item in items if item["kind"] == "PrometheusRule")
    return found


def said(rules: dict) -> dict[str, str]:
    every = (rule for group in rules["groups"] for rule in group["rules"])
    return {rule["alert"]: rule["annotations"]["summary"] for rule in every if "alert" in rule}


def cron_job(metric: str, name: str = RESYNC, namespace: str = NAMESPACE) -> str:
    return f'kube_cronjob_{metric}{{namespace="{namespace}",cronjob="{name}"}}'


def job(metric: str, name: str, more: str = "", namespace: str = NAMESPACE) -> str:
    return f'kube_job_{metric}{{namespace="{namespace}",job_name="{name}"{more}}}'


def target(metric: str, more: str = "", name: str = "apps") -> str:
    kind = 'customresource_group="kustomize.toolkit.fluxcd.io",customresource_kind="Kustomization"'
    of = f'target_namespace="{NAMESPACE}",target_name="{name}"'
    return f"krm_windows_target_{metric}{{{kind},{of}{more}}}"


def failed(name: str, start: int) -> Series:
    return {
        job("status_start_time", name): f"{start}x200",
        job("failed", name, ',condition="true"'): "1x200",
        job("failed", name, ',condition="false"'): "0x200",
    }


OPENED = cron_job("status_last_schedule_time", OPENS)
OPENING = cron_job("next_schedule_time", OPENS)
CLOSED_WELL = cron_job("status_last_successful_time", CLOSES)
APPLIED = job("status_completion_time", NOW)
SUSPENDED = target("suspended")
SUCCESS = cron_job("status_last_successful_time")
MARK = target("closed_by_info", f',policy="{NAMESPACE}/week",closed_by="…"')


def marked(**said: str) -> str:
    return MARK.replace("…", json.dumps(json.dumps(said))[1:-1])


MARK_APART = marked(reason="closed", cause=Cause.CLOCK_SKEW)
MARK_REASON = marked(reason=f'hooks.afterApply failed: {APART}, "cause": "HookFailed"')
MARK_HOOK = marked(policy="a", reason="closed", cause=Cause.HOOK_FAILED)
MONTH = 30 * 24 * 60  # minutes
# From 1970 on, as promtool counts: the month in which the table of days ends.
ENDS = (LAST_DAY - date(1970, 1, 1)).days // 30 * MONTH
EVERY_QUARTER = " ".join(f"{minute * 60}x14" for minute in range(0, 150, 15))


@dataclass(frozen=True)
class Case:
    """Series, a value a minute, and the alerts that fire at some minutes, and nothing else then."""

    series: Series
    at: dict[int, str]
    policy: str = POLICY
    interval: str = "1m"


CASES = {
    "every run succeeds": Case({SUCCESS: EVERY_QUARTER}, dict.fromkeys(range(0, 120, 7), "")),
    "no run has succeeded for two intervals": Case(
        {SUCCESS: "0x200"}, {30: "", 36: "", 38: "NoSuccessfulRun", 120: "NoSuccessfulRun"}
    ),
    "the last of several CronJobs counts": Case(
        {SUCCESS: "0x200", cron_job("status_last_successful_time", OPENS): "_x20 1200x200"},
        {50: "", 60: "NoSuccessfulRun"},
    ),
    "none has succeeded ever": Case(
        {cron_job("created"): "60x200"}, {31: "", 37: "", 39: "NoSuccessfulRun"}
    ),
    "what has just been created has time": Case(
        {cron_job("created"): "_x60 3600x200"}, {61: "", 95: ""}
    ),
    "nothing is known at all": Case({}, {60: ""}),
    "a Job failed": Case(
        {SUCCESS: "900x44 2700x60", **failed("week-resync-29000000", 1800)},
        {31: "GateFailing", 44: "GateFailing", 46: "", 60: ""},
    ),
    "a Job failed before any succeeded": Case(
        {cron_job("created"): "0x200", **failed("week-resync-29000000", 60)}, {5: "GateFailing"}
    ),
    "a Job of another policy failed": Case(
        {
            SUCCESS: "0x30",
            **failed("week-resync-2-29000000", 60),
            **failed("other-resync-29000000", 60),
        },
        {5: ""},
    ),
    "the window opened, and its run did not succeed": Case(
        {SUCCESS: "2700x74 4500x60", OPENED: "_x60 3600x200"},
        {70: "", 72: "NotOpened", 74: "NotOpened", 76: ""},
    ),
    "the window should have opened, and nobody scheduled anything": Case(
        {SUCCESS: "2700x200", OPENING: "3600x200"}, {72: "", 84: "NoSuccessfulRun"}
    ),
    "an edge that acts was due, and nobody scheduled it": Case(
        {CLOSED_WELL: "2700x200", OPENING: "3600x200"}, {70: "", 72: "NotOpened"}, POLICY + EDGES
    ),
    "an edge that acts is long ago, and was taken": Case(
        {
            CLOSED_WELL: "2700x200",
            cron_job("status_last_schedule_time", CLOSES): "2690x200",
            OPENING: "90000x200",
        },
        {72: "", 180: ""},
        POLICY + EDGES,
    ),
    "an edge that acts was due, and nothing has succeeded ever": Case(
        {cron_job("created", OPENS): "0x200", OPENING: "3600x200"},
        {70: "", 72: "NotOpened"},
        POLICY + EDGES,
    ),
    "a long hook runs after the window opened": Case(
        {SUCCESS: "2700x100 6000x100", OPENED: "_x60 3600x200"},
        {72: "", 90: "", 120: ""},
        POLICY + HOOK,
    ),
    "a long hook has run for as long as it may": Case(
        {SUCCESS: "2700x200", OPENED: "_x60 3600x200"},
        {75: "", 190: "NotOpened NoSuccessfulRun"},
        POLICY + HOOK,
    ),
    "the interval was made shorter, and the edit was applied": Case(
        {SUCCESS: "0x400", APPLIED: "_x100 6000x300"}, {101: "", 130: ""}
    ),
    "an edit was applied, and no run succeeded after it": Case(
        {SUCCESS: "0x400", APPLIED: "_x100 6000x300"}, {101: "", 130: "", 140: "NoSuccessfulRun"}
    ),
    "a Job failed, and an edit was applied": Case(
        {SUCCESS: "900x60", **failed("week-resync-29000000", 1800), APPLIED: "_x31 1860x60"},
        {31: "GateFailing", 40: "GateFailing"},
    ),
    "the window opened, its run did not succeed, and an edit was applied": Case(
        {SUCCESS: "2700x200", OPENED: "_x60 3600x200", APPLIED: "_x62 3720x200"},
        {70: "", 72: "NotOpened", 90: "NotOpened"},
    ),
    "the window closed, and its run did not succeed": Case(
        {SUCCESS: "2700x200", cron_job("status_last_schedule_time", CLOSES): "_x60 3600x200"},
        {70: "", 72: "NotClosed"},
    ),
    "an edge was met in UTC alone, and its run did not succeed": Case(
        {SUCCESS: "2700x74 4500x60", cron_job("status_last_schedule_time", EDGE): "_x60 3600x200"},
        {70: "", 72: "EdgeMissed", 74: "EdgeMissed", 76: ""},
    ),
    "a target was resumed, and not closed again": Case(
        {SUCCESS: EVERY_QUARTER, SUSPENDED: "1x10 0x200", MARK: "1x200"},
        {10: "", 40: "", 42: "Reopened"},
    ),
    "a target was resumed, and closed again": Case(
        {SUCCESS: EVERY_QUARTER, SUSPENDED: "1x10 0x14 1x200", MARK: "1x200"}, {42: "", 60: ""}
    ),
    "a target is not opened, as clocks are apart": Case(
        {
            SUCCESS: EVERY_QUARTER,
            SUSPENDED: "1x200",
            MARK: "1x20 _x200",
            MARK_APART: "_x20 1x20 _x200",
        },
        {10: "", 22: "ClocksApart", 38: "ClocksApart", 50: ""},
    ),
    "the table of days ends within half a year": Case(
        {SUCCESS: f"0+{MONTH * 60}x900"},
        {ENDS - 7 * MONTH: "", ENDS - 5 * MONTH: "TableEnds"},
        interval=f"{MONTH}m",
    ),
    "a reason speaks of what only a key says": Case(
        {SUCCESS: EVERY_QUARTER, SUSPENDED: "1x200", MARK_REASON: "1x200"}, {10: "", 50: ""}
    ),
    "a hook keeps it closed": Case(
        {
            SUCCESS: EVERY_QUARTER,
            SUSPENDED: "1x200",
            MARK: "1x20 _x200",
            MARK_HOOK: "_x20 1x20 _x200",
        },
        {10: "", 22: "HookFailed", 38: "HookFailed", 50: ""},
        POLICY + HOOK,
    ),
    "another target is open": Case(
        {SUCCESS: EVERY_QUARTER, target("suspended", name="infra"): "0x200", MARK: "1x200"},
        {60: ""},
    ),
}


@pytest.mark.slow
def test_alerts(tool: Callable[[str], Path], tmp_path: Path) -> None:
    paths = [written(name, case, tmp_path) for name, case in CASES.items()]
    done = subprocess.run(
        [tool("promtool"), "test", "rules", *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def written(name: str, case: Case, folder: Path) -> Path:
    rules = emitted(case.policy + EXTRAS)
    words = said(rules)
    tests = [
        {
            "alertname": name,
            "eval_time": f"{minute}m",
            "exp_alerts": expected(name, words[name], case.series, firing.split()),
        }
        for minute, firing in case.at.items()
        for name in words
    ]
    series = [{"series": name, "values": values} for name, values in case.series.items()]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": case.interval,
        "tests": [{"interval": case.interval, "input_series": series, "alert_rule_test": tests}],
    }
    place = folder / name
    place.mkdir()
    (place / "rules.yaml").write_text(yaml.dump(rules, Dumper=yaml.CSafeDumper))
    (place / "test.yaml").write_text(yaml.dump(test, Dumper=yaml.CSafeDumper, allow_unicode=True))
    return place / "test.yaml"


def expected(name: str, words: str, series: Series, firing: list[str]) -> list[dict[str, object]]:
    if name.removeprefix("KrmWindows") not in firing:
        return []
    where = {"namespace": NAMESPACE}
    if name in ("KrmWindowsReopened", "KrmWindowsClocksApart"):
        assert MARK in series
        where = {
            "customresource_group": "kustomize.toolkit.fluxcd.io",
            "customresource_kind": "Kustomization",
            "target_namespace": NAMESPACE,
            "target_name": "apps",
        }
    if name in ("KrmWindowsTableEnds", "KrmWindowsHookFailed"):
        where = {}
    labels = {"policy": f"{NAMESPACE}/week", "severity": "warning", **where}
    return [{"exp_labels": labels, "exp_annotations": {"summary": words}}]


def test_a_target_that_kube_state_metrics_knows_itself() -> None:
    """Of CronJobs there is no metric of ours, so there is no alert that could never fire."""
    policy = POLICY.replace("kind: Kustomization", "kind: CronJob")
    assert "KrmWindowsReopened" not in said(emitted(policy + EXTRAS))


def test_every_alert_fires_in_a_case(rules: dict) -> None:
    """An alert that fires nowhere may be dead; without hooks there is none about them."""
    shown = (names.split() for case in CASES.values() for names in case.at.values())
    fired = {f"KrmWindows{name}" for names in shown for name in names}
    assert fired == set(said(emitted(POLICY + EXTRAS + HOOK)))
    assert fired - set(said(rules)) == {"KrmWindowsHookFailed"}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (
            "  freezes: {x: {starts: '2030-01-01', ends: '2030-01-02', reason: x}}\n",
            {"KrmWindowsEdgeMissed"},
        ),
        (EDGES, set()),
    ],
)
def test_promtool_accepts_them(
    change: str, names: set[str], tool: Callable[[str], Path], tmp_path: Path
) -> None:
    rules = emitted(POLICY + EXTRAS + change)
    always = {"KrmWindowsGateFailing", "KrmWindowsNotOpened", "KrmWindowsNotClosed"}
    looking = {"KrmWindowsNoSuccessfulRun", "KrmWindowsTableEnds", *ON_MARKS} if names else set()
    assert set(said(rules)) == always | looking | names
    (tmp_path / "rules.yaml").write_text(yaml.dump(rules, Dumper=yaml.CSafeDumper))
    done = subprocess.run(
        [tool("promtool"), "check", "rules", "--lint=all", "--lint-fatal", tmp_path / "rules.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
