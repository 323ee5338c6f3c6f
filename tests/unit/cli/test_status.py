"""`krm-windows status`, on what kubectl printed: what each target is, and what it should be."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY, Run
from live import CLOSED, HOLD, OPEN, OURS, SINCE, UNTIL, LiveObject, closed_by, live

from krm_windows.cli import output
from krm_windows.cli import status as cli
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.emit.configmap import config_map
from krm_windows.emit.cronjob import cron_job
from krm_windows.gate.annotations import APART, annotation
from krm_windows.inventory import Inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.preview.versions import Choice, PolicySource

OTHERS = closed_by("shop/nights", since=None, until=None)
SPOILT = {annotation("a/b"): "spoilt"}
BOTH = OURS | OTHERS
HELD = "held: anna: the press"
LABEL = {"krm-windows.dev/policy": "flux-system.week"}
THIS_POLICY: dict[str, object] = {"kind": "Policy", "policy": "flux-system/week"}
ALWAYS = POLICY + "  state: Open\n"
EDGES = POLICY + "  actuator: {type: Kubectl}\n"
Status = Callable[..., tuple[int, str]]


def of_policy(kind: str, name: str, **parts: object) -> LiveObject:
    version = "v1" if kind == "Pod" else "batch/v1"
    metadata = {"name": name, "namespace": "flux-system", "labels": LABEL}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def job(at: str, condition: str = "Complete") -> LiveObject:
    ended = {"type": condition, "status": "True", "lastTransitionTime": at}
    return of_policy("Job", "week-resync-1", status={"conditions": [ended]})


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """An interrupt ends a watch, also where a shell has started the tests in its background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def status(run: Run) -> Status:
    def called(
        at: str, *objects: object, policy: str = POLICY, options: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        Path("policy.yaml").write_text(policy)
        Path("objects.json").write_text("\n".join(map(json.dumps, objects)))
        return run("status", "policy.yaml", "-f", "objects.json", "--at", at, *options)[:2]

    return called


def row(printed: str) -> list[str]:
    return re.split(r" {3,}", [line for line in printed.splitlines() if "   " in line][-1])


@pytest.mark.parametrize(
    ("at", "found", "code", "cells"),
    [
        (OPEN, live(), 0, ["open", "open"]),
        (OPEN, live(suspend=True, notes=OURS), 1, ["closed", "open", "this policy"]),
        (OPEN, live(suspend=True), 0, ["closed", "open", "a person"]),
        (OPEN, live(suspend=True, notes=OURS | HOLD), 0, ["closed", "open", HELD]),
        (OPEN, live(notes=HOLD), 1, ["open", "closed", HELD]),
        (OPEN, live(suspend=True, notes=SPOILT), 0, ["closed", "open", "a person"]),
        (OPEN, live(suspend=True, notes=BOTH), 0, ["closed", "open", "policy shop/nights"]),
        (CLOSED, live(suspend=True, notes=BOTH), 0, ["closed", "closed", "this policy"]),
        (CLOSED, live(suspend=True), 0, ["closed", "closed", "a person"]),
        (CLOSED, live(suspend=False, notes=OURS), 1, ["open", "closed"]),
        (CLOSED, live(applied=None), 0, ["open", "open"]),
        (OPEN, live(namespace="shop"), 1, ["missing", "open"]),
    ],
)
def test_a_target(status: Status, at: str, found: LiveObject, code: int, cells: list[str]) -> None:
    ended, printed = status(at, found)
    assert (ended, row(printed)[1 : 1 + len(cells)]) == (code, cells)


def test_the_table(status: Status) -> None:
    code, printed = status(CLOSED, live(suspend=True, notes=OURS), job("2026-11-21T09:55:10Z"))
    assert code == 0
    assert printed.splitlines() == [
        "in policy.yaml: flux-system/week should be closed: no window is open",
        "since Thu 2026-11-19 17:00, until Mon 2026-11-23 08:00 (Europe/Berlin)",
        (
            "in the cluster (as objects.json says): unknown which windows it has, as nobody has "
            "read its ConfigMaps"
        ),
        "",
        (
            "TARGET                           STATE    DESIRED   SUSPENDED BY   "
            "SINCE                  UNTIL                  NEXT CHANGE                  LAST RUN"
        ),
        (
            "Kustomization flux-system/apps   closed   closed    this policy    Thu 2026-11-19 "
            "17:00   Mon 2026-11-23 08:00   opens Mon 2026-11-23 08:00   4 m ago, succeeded"
        ),
    ]


def test_json(status: Status) -> None:
    failed = job("2026-11-21T09:55:10Z", "Failed")
    found = json.loads(status(CLOSED, live(), failed, options=("-o", "json"))[1])
    assert (found["asDesired"], found["at"]) == (False, "2026-11-21T11:00:00+01:00")
    assert found["desired"]["until"] == "2026-11-23T08:00:00+01:00"
    assert found["lastRun"] == {
        "at": "2026-11-21T10:55:10+01:00",
        "succeeded": False,
        "by": "Job week-resync-1",
    }
    assert found["targets"] == [
        {
            "group": "kustomize.toolkit.fluxcd.io",
            "kind": "Kustomization",
            "namespace": "flux-system",
            "name": "apps",
            "state": "open",
            "desired": "closed",
            "asDesired": False,
            "suspendedBy": None,
            "since": None,
            "until": None,
        }
    ]


@pytest.mark.parametrize(
    ("at", "notes", "by", "policy"),
    [
        (CLOSED, OURS, THIS_POLICY, POLICY),
        (OPEN, OTHERS, {"kind": "Policy", "policy": "shop/nights"}, POLICY),
        (OPEN, HOLD, {"kind": "Hold", "reason": "anna:\nthe press"}, POLICY),
        (OPEN, None, {"kind": "Person"}, POLICY),
        (OPEN, None, THIS_POLICY | {"adopted": True}, POLICY + "  adoptUntil: 2027-01-01\n"),
        (CLOSED, None, {"kind": "Edge"}, EDGES),
    ],
)
def test_who_keeps_it_closed_is_a_value(
    status: Status, at: str, notes: object, by: dict[str, object], policy: str
) -> None:
    found = live(suspend=True, notes=notes)
    _, printed = status(at, found, options=("-o", "json"), policy=policy)
    assert json.loads(printed)["targets"][0]["suspendedBy"] == by


RELEASED = (
    POLICY.replace("names: [apps]", "names: [infra]")
    + "  released: [{kind: Kustomization, names: [apps]}]\n"
)


@pytest.mark.parametrize(("at", "policy"), [(OPEN, POLICY), (CLOSED, RELEASED)])
def test_clocks_that_are_apart(status: Status, at: str, policy: str) -> None:
    why = {"reason": APART, "cause": "ClockSkew"}
    shut = live(suspend=True, notes=closed_by("flux-system/week", **why, since=None, until=None))
    code, printed = status(at, shut, policy=policy)
    assert (code, row(printed)[3]) == (1, f"this policy: {APART}")
    _, printed = status(at, shut, options=("-o", "json"), policy=policy)
    found = json.loads(printed)["targets"][-1]
    assert (found["asDesired"], found["suspendedBy"]) == (False, THIS_POLICY | why)


def test_a_hook_that_failed(status: Status) -> None:
    why = {"reason": "hooks.afterApply failed: Job line/a-1", "cause": "HookFailed"}
    now = {"since": UNTIL, "until": "2026-11-26T16:00:00+00:00"}
    before = {"since": SINCE, "until": UNTIL}
    for known, by in ((now, THIS_POLICY | why), (before, THIS_POLICY)):
        shut = live(suspend=True, notes=closed_by("flux-system/week", **why, **known))
        code, printed = status(OPEN, shut, options=("-o", "json"))
        assert (code, json.loads(printed)["targets"][0]["suspendedBy"]) == (1, by)


def test_labels_are_resolved_from_the_cluster(status: Status) -> None:
    policy = POLICY.replace("names: [apps]", "matchLabels: {class: windowed}")
    windowed = live("a", labels={"class": "windowed"})
    code, printed = status(CLOSED, windowed, live("b"), policy=policy)
    assert (code, row(printed)[0]) == (1, "Kustomization flux-system/a")
    code, printed = status(CLOSED, live("b"), policy=policy)
    assert code == 1
    assert "\nno targets: no object that was read matches the policy's `matchL" in printed


def test_what_is_released(status: Status) -> None:
    policy = POLICY + "  released: [{kind: Kustomization, names: [old, gone]}]\n"
    apps = live(suspend=True, notes=OURS)
    code, printed = status(CLOSED, apps, live("old", suspend=True, notes=OURS), policy=policy)
    assert (code, row(printed)[:3]) == (1, ["Kustomization flux-system/old", "closed", "open"])
    assert "gone" not in printed
    assert status(CLOSED, apps, live("old"), policy=policy)[0] == 0


def test_a_cluster_of_its_own(status: Status) -> None:
    policy = POLICY + "  clusters: {north: {state: Open}}\n"
    code, printed = status(CLOSED, live(), policy=policy, options=("--cluster", "north"))
    said = "in policy.yaml: flux-system/week on north should be open: state"
    assert (code, printed.splitlines()[0]) == (0, said)


def test_edges_that_act(status: Status) -> None:
    """The actuator Kubectl leaves no marks, so nobody can say whose a suspension is."""
    shut = live(suspend=True)
    code, printed = status(CLOSED, shut, policy=EDGES)
    assert (code, row(printed)[1:4]) == (0, ["closed", "closed", "an edge, or a person"])
    assert status(OPEN, shut, policy=EDGES)[0] == 1
    # It has no timetable: its CronJobs are compared.
    plan, options = planned(EDGES), ("-o", "json")
    jobs = [json.loads(json.dumps(cron_job(plan, each))) for each in plan.triggers]
    found = json.loads(status(CLOSED, shut, *jobs, policy=EDGES, options=options)[1])
    assert found["delivered"] is True
    jobs[0]["spec"]["schedule"] = "1 2 3 4 5"
    found = json.loads(status(CLOSED, shut, *jobs, policy=EDGES, options=options)[1])
    assert found["delivered"] is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "objects.json:1:1: [error] is empty: did kubectl fail?"),
        ("nonsense", "objects.json:1:1: [error] is not the output of `kubectl get -o json`"),
        ("[]", "objects.json: is not the output of `kubectl get -o json`"),
    ],
)
def test_what_is_no_answer_of_kubectl(run: Run, text: str, words: str) -> None:
    Path("objects.json").write_text(text)
    ended = run("status", "policy.yaml", "-f", "objects.json")
    assert ended.code == 1
    assert words in ended.err


@pytest.fixture
def kubectl(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    assert run
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def make(lines: str) -> None:
        Path("kubectl").write_text(f"#!/bin/bash\n{lines}\n")
        Path("kubectl").chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("echo Welcome", "kubectl: is not the output of `kubectl get -o json`: "),
        ("printf 'no \\xe9lan\\n' >&2; exit 1", "kubectl: no \ufffdlan"),
    ],
)
def test_a_kubectl_that_answers_nonsense(
    lines: str, words: str, kubectl: Callable[[str], None], run: Run
) -> None:
    kubectl(lines)
    ended = run("status", "policy.yaml")
    assert ended.code == 1
    assert words in ended.err


def test_the_log_of_the_last_pod_is_read(kubectl: Callable[[str], None], run: Run) -> None:
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-21T10:00:00Z"}}
    statuses = [{"name": "gate", "state": ended}]
    pod = of_policy("Pod", "week-apply-1-abcde", status={"containerStatuses": statuses})
    denied = "403 to PATCH /: User cannot patch resource"
    line = {"target": "Kustomization flux-system/apps", "error": denied}
    kubectl(f"""\
case $* in
logs*week-apply-1-abcde) echo '{json.dumps(line)}';;
*pods) echo '{json.dumps(pod)}';;
*kustomizations*) echo '{json.dumps(live())}';;
esac""")
    shown = run("status", "policy.yaml").out
    assert row(shown)[-1] == "never: rights"
    assert "Pod week-apply-1-abcde: Kustomization flux-system/apps: 403 to PATCH" in shown


def test_events_are_read_for_an_overdue_run(kubectl: Callable[[str], None], run: Run) -> None:
    """They are many, so of no other one."""
    for minutes, is_overdue in ((20, False), (40, True)):
        ended = job((datetime.now(UTC) - timedelta(minutes=minutes)).isoformat())
        kubectl(f"""\
case $* in
*cronjobs*) echo '{json.dumps(ended)}';;
*events*) echo asked >> events;;
esac""")
        assert row(run("status", "policy.yaml").out)[-1].startswith(f"{minutes} m ago")
        assert Path("events").exists() is is_overdue


def test_a_cron_job_that_somebody_suspended(status: Status) -> None:
    suspended = of_policy("CronJob", "week-resync", spec={"suspend": True})
    code, printed = status(CLOSED, live(suspend=True, notes=OURS), suspended)
    assert code == 1
    assert "CronJob flux-system/week-resync is suspended, so it starts no runs" in printed
    assert "CronJob flux-system/week-open-office not found" in printed


def test_a_terminal_that_is_narrower_than_the_table(
    status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, wide = status(OPEN, live(suspend=True))
    monkeypatch.setattr(output, "width", lambda: 60)
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    _, narrow = status(OPEN, live(suspend=True))
    [table] = [line for line in wide.splitlines() if line.startswith("Kustomization ")]
    cells = re.split(r"   +", table)
    block = narrow.splitlines()
    block = block[block.index(cells[0]) :]
    for cell in cells[1:]:
        assert any(re.search(rf"^  [A-Z ]+ {re.escape(cell)}$", line) for line in block)
    assert max(map(len, block)) <= 60 < len(table)


def planned(policy: str) -> Plan:
    versions, _ = PolicySource(KubeObject.parse(policy.encode())).versions(Choice())
    plan, _ = compile_policy(versions[0].policy, None, Inventory((), visible=False))
    return plan


def gate(policy: str = POLICY) -> LiveObject:
    return json.loads(json.dumps(config_map(planned(policy))))  # type: ignore[no-any-return]


OTHER = POLICY + "  freezes: {line: {starts: 2026-11-24, ends: 2026-11-25, reason: Line down}}\n"


@pytest.mark.parametrize(
    ("applied", "code", "words", "delivered"),
    [(POLICY, 0, "the same windows", True), (OTHER, 1, "other windows", False)],
)
def test_which_windows_the_cluster_has(
    status: Status, applied: str, code: int, words: str, *, delivered: bool
) -> None:
    objects = [live(suspend=True, notes=OURS), gate(applied)]
    ended, printed = status(CLOSED, *objects)
    said = f"in the cluster (as objects.json says): {words}"
    assert (ended, printed.splitlines()[2]) == (code, said)
    found = json.loads(status(CLOSED, *objects, options=("-o", "json"))[1])
    assert (found["delivered"], found["askedAt"]) == (delivered, None)


# What kubectl answers: of targets, of ConfigMaps, and of CronJobs and Jobs.
ANSWERS = "case $* in *kustomizations*) cat apps;; *configmaps*) %s;; *cronjobs*) cat jobs;; esac"


@pytest.fixture
def cluster(kubectl: Callable[[str], None]) -> Callable[..., None]:
    def make(*, suspend: bool, windows: str | None = POLICY, refused: bool = False) -> None:
        kubectl(ANSWERS % ("exit 1" if refused else "cat windows"))
        plan = planned(POLICY)
        jobs = [json.dumps(cron_job(plan, each)) for each in plan.triggers]
        Path("jobs").write_text("\n".join(jobs))
        Path("apps").write_text(json.dumps(live(suspend=suspend, notes=OURS)))
        Path("windows").write_text(json.dumps(gate(windows)) if windows else "")

    return make


def wait(clock: Clock, *options: str) -> int:
    Path("policy.yaml").write_text(ALWAYS)
    call = ["status", "policy.yaml", "--wait", *options]
    return cli.run(parser(COMMANDS, call).parse_args(call), clock)


def test_a_wait_ends_when_the_cluster_has_the_windows(
    cluster: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    steps = iter(
        [
            lambda: cluster(suspend=True),
            lambda: None,
            lambda: cluster(suspend=True, windows=ALWAYS),
            lambda: cluster(suspend=False, windows=ALWAYS),
        ]
    )
    cluster(suspend=True, windows=None)
    assert wait(Clock(sleep=lambda _: next(steps)())) == 0
    printed = capsys.readouterr()
    missing = "krm-windows: waiting: in the cluster: no windows of this policy: they have not been"
    assert printed.err.splitlines() == [
        f"{missing} applied",
        "krm-windows: waiting: Kustomization flux-system/apps is closed, and should be open",
        "krm-windows: waiting: in the cluster: other windows",
    ]
    assert "in the cluster (asked at " in printed.out
    assert "the same windows" in printed.out


@pytest.mark.parametrize("refused", [False, True])
def test_a_wait_that_takes_too_long(
    cluster: Callable[..., None], capsys: pytest.CaptureFixture[str], *, refused: bool
) -> None:
    cluster(suspend=False, windows=POLICY if refused else OTHER, refused=refused)
    times = iter([datetime.now(UTC) + timedelta(minutes=each) for each in range(9)])
    clock = Clock(now=lambda: next(times), sleep=lambda _: None)
    assert wait(clock, "--timeout", "3m") == 124
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("krm-windows: timed out: ")
    assert ("unknown which windows" if refused else "in the cluster: other windows") in said
