"""`krm-windows status`, on what kubectl printed.

What each target is, should be, and who keeps it shut.
"""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY

from krm_windows.cli import main, output
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
from krm_windows.preview.versions import Choice, Source

OPEN, CLOSED = "2026-11-24T10:00Z", "2026-11-21T10:00Z"
SINCE, UNTIL = "2026-11-19T16:00:00+00:00", "2026-11-23T07:00:00+00:00"
OURS = {
    annotation("flux-system/week"): json.dumps(
        {"policy": "flux-system/week", "reason": "", "since": SINCE, "until": UNTIL}
    )
}
OTHERS = {
    annotation("shop/nights"): json.dumps(
        {"policy": "shop/nights", "reason": "", "since": None, "until": None}
    )
}
HOLD = {"krm-windows.dev/hold": "anna: the press is being repaired"}
LABEL = {"krm-windows.dev/policy": "flux-system.week"}
THIS_POLICY: dict[str, object] = {"kind": "Policy", "policy": "flux-system/week"}
LiveObject = dict[str, object]
Status = Callable[..., tuple[int, str]]


def live(
    name: str = "apps",
    *,
    suspend: object = None,
    notes: object = None,
    new: bool = False,
    **meta: object,
) -> LiveObject:
    """Return a Kustomization as the API server gives it."""
    metadata = {"name": name, "namespace": "flux-system", "annotations": notes or {}, **meta}
    metadata.setdefault(
        "creationTimestamp", "2026-11-21T09:30:00Z" if new else "2026-01-01T00:00:00Z"
    )
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {} if suspend is None else {"suspend": suspend},
        "status": {} if new else {"lastAppliedRevision": "main@sha1:0"},
    }


def job(name: str, at: str, condition: str = "Complete", component: str = "gate") -> LiveObject:
    """Return a Job of the policy that ended."""
    labels = {**LABEL, "app.kubernetes.io/component": component}
    metadata = {"name": name, "namespace": "flux-system", "labels": labels}
    ended = {"type": condition, "status": "True", "lastTransitionTime": at}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "status": {"conditions": [ended]},
    }


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """An interrupt ends a watch.

    Also where the tests run in a shell's background, which ignores it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Status:
    """Judge some objects by a policy, and return the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)

    def run(
        at: str, *objects: object, policy: str = POLICY, options: tuple[str, ...] = ()
    ) -> tuple[int, str]:
        Path("policy.yaml").write_text(policy)
        Path("objects.json").write_text("\n".join(map(json.dumps, objects)))
        code = main(["status", "policy.yaml", "-f", "objects.json", "--at", at, *options])
        return code, capsys.readouterr().out

    return run


def row(printed: str) -> list[str]:
    """Return the cells of the last row."""
    return re.split(r" {3,}", [line for line in printed.splitlines() if "   " in line][-1])


@pytest.mark.parametrize(
    ("at", "found", "code", "cells"),
    [
        (OPEN, live(), 0, ["open", "open"]),
        (OPEN, live(suspend=True, notes=OURS), 1, ["closed", "open", "this policy"]),
        (OPEN, live(suspend=True), 0, ["closed", "open", "a person"]),
        (
            OPEN,
            live(suspend=True, notes=OURS | HOLD),
            0,
            ["closed", "open", f"held: {HOLD['krm-windows.dev/hold']}"],
        ),
        (OPEN, live(notes=HOLD), 1, ["open", "closed", f"held: {HOLD['krm-windows.dev/hold']}"]),
        (OPEN, live(suspend=True, notes=OTHERS), 0, ["closed", "open", "policy shop/nights"]),
        (
            OPEN,
            live(suspend=True, notes={annotation("a/b"): "spoilt"}),
            0,
            ["closed", "open", "a person"],
        ),
        (
            OPEN,
            live(suspend=True, notes=OURS | OTHERS),
            0,
            ["closed", "open", "policy shop/nights"],
        ),
        (CLOSED, live(suspend=True, notes=OURS | OTHERS), 0, ["closed", "closed", "this policy"]),
        (CLOSED, live(suspend=True, notes=OURS), 0, ["closed", "closed", "this policy"]),
        (CLOSED, live(suspend=True), 0, ["closed", "closed", "a person"]),
        (CLOSED, live(), 1, ["open", "closed"]),
        (CLOSED, live(suspend=False, notes=OURS), 1, ["open", "closed"]),
        (CLOSED, live(new=True), 0, ["open", "open"]),
        (CLOSED, live(name="infra"), 1, ["missing", "closed"]),
        (OPEN, live(namespace="shop"), 1, ["missing", "open"]),
    ],
)
def test_a_target(status: Status, at: str, found: LiveObject, code: int, cells: list[str]) -> None:
    """It is as desired where the gate would leave it.

    As the policy says, new, or somebody else's.
    """
    ended, printed = status(at, found)
    assert (ended, row(printed)[1 : 1 + len(cells)]) == (code, cells)


def test_the_table(status: Status) -> None:
    """Moments are those of the policy's clocks; the header says what holds, and why."""
    code, printed = status(
        CLOSED, live(suspend=True, notes=OURS), job("week-resync-1", "2026-11-21T09:55:10Z")
    )
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
    """The same, for programs."""
    _, printed = status(
        CLOSED,
        live(),
        job("week-resync-1", "2026-11-21T09:55:10Z", "Failed"),
        options=("-o", "json"),
    )
    found = json.loads(printed)
    assert found["asDesired"] is False
    assert found["at"] == "2026-11-21T11:00:00+01:00"
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


ADOPTING = POLICY + "  adoptUntil: 2027-01-01\n"
EDGES = POLICY + "  actuator: {type: Kubectl}\n"


@pytest.mark.parametrize(
    ("at", "notes", "by", "policy"),
    [
        (CLOSED, OURS, THIS_POLICY, POLICY),
        (OPEN, OTHERS, {"kind": "Policy", "policy": "shop/nights"}, POLICY),
        (OPEN, HOLD, {"kind": "Hold", "reason": HOLD["krm-windows.dev/hold"]}, POLICY),
        (OPEN, None, {"kind": "Person"}, POLICY),
        (OPEN, None, THIS_POLICY | {"adopted": True}, ADOPTING),
        (CLOSED, None, {"kind": "Edge"}, EDGES),
    ],
)
def test_who_keeps_it_closed_is_a_value(
    status: Status, at: str, notes: object, by: dict[str, object], policy: str
) -> None:
    """No program has to read a sentence; what is absent has no key."""
    found = live(suspend=True, notes=notes)
    _, printed = status(at, found, options=("-o", "json"), policy=policy)
    assert json.loads(printed)["targets"][0]["suspendedBy"] == by


def test_the_last_run_is_the_newest(status: Status) -> None:
    """Of the policy's own Jobs, and of CronJobs whose Jobs are gone."""
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "week-resync", "namespace": "flux-system", "labels": LABEL},
        "status": {"lastSuccessfulTime": "2026-11-21T09:57:00Z"},
    }
    foreign = job("other", "2026-11-21T09:59:00Z")
    foreign["metadata"] = {"name": "other", "namespace": "flux-system"}
    _, printed = status(
        CLOSED, live(), job("week-resync-1", "2026-11-21T09:40:00Z", "Failed"), cron_job, foreign
    )
    assert row(printed)[-1] == "3 m ago, succeeded"
    _, printed = status(CLOSED, live(), foreign)
    assert row(printed)[-1] == "never"
    # Of targets alone nobody knows it.
    _, printed = status(CLOSED, live())
    assert row(printed)[-1] == "unknown"


def test_the_job_of_a_hook_is_no_run(status: Status) -> None:
    """It has the policy's label, too, and may have ended well where the run did not."""
    hook = job("week-before-open-1", "2026-11-21T09:50:00Z", component="hook")
    _, printed = status(
        CLOSED, live(), job("week-resync-1", "2026-11-21T09:45:00Z", "Failed"), hook
    )
    assert row(printed)[-1] == "15 m ago, failed"


ALWAYS = POLICY + "  state: Open\n"
RELEASED = (
    POLICY.replace("names: [apps]", "names: [infra]")
    + "  released: [{kind: Kustomization, names: [apps]}]\n"
)


@pytest.mark.parametrize(("at", "policy"), [(OPEN, POLICY), (CLOSED, RELEASED)])
def test_clocks_that_are_apart(status: Status, at: str, policy: str) -> None:
    """A run that kept a target shut for that has failed.

    It is reported, and no good state, whatever should hold.
    """
    said = {"policy": "flux-system/week", "reason": APART, "since": None, "until": None}
    said["cause"] = "ClockSkew"
    shut = live(suspend=True, notes={annotation("flux-system/week"): json.dumps(said)})
    code, printed = status(at, shut, policy=policy)
    assert (code, row(printed)[3]) == (1, f"this policy: {APART}")
    _, printed = status(at, shut, options=("-o", "json"), policy=policy)
    found = json.loads(printed)["targets"][-1]
    by = THIS_POLICY | {"reason": APART, "cause": "ClockSkew"}
    assert (found["asDesired"], found["suspendedBy"]) == (False, by)


def test_a_hook_that_failed(status: Status) -> None:
    """What keeps a target shut while the window is open is said with its Job.

    Not so the reason of the time before, where no run came yet.
    """
    why = "hooks.afterApply failed: Job line/week-after-apply-1"
    edges = {"since": "2026-11-23T07:00:00+00:00", "until": "2026-11-26T16:00:00+00:00"}
    before = {"since": "2026-11-19T16:00:00+00:00", "until": "2026-11-23T07:00:00+00:00"}
    failed = THIS_POLICY | {"reason": why, "cause": "HookFailed"}
    for known, by in ((edges, failed), (before, THIS_POLICY)):
        said = {"policy": "flux-system/week", "reason": why, "cause": "HookFailed", **known}
        shut = live(suspend=True, notes={annotation("flux-system/week"): json.dumps(said)})
        code, printed = status(OPEN, shut, options=("-o", "json"))
        found = json.loads(printed)
        assert found["desired"]["since"] == "2026-11-23T08:00:00+01:00"
        assert (code, found["targets"][0]["suspendedBy"]) == (1, by)


def test_what_a_person_wrote_stays_in_its_cell(status: Status) -> None:
    """A hold of several lines is one, and steers no terminal."""
    notes = OURS | {"krm-windows.dev/hold": "anna:\n\x1b[2Jthe press\n"}
    _, printed = status(CLOSED, live(suspend=True, notes=notes))
    assert row(printed)[3] == "held: anna: \\x1b[2Jthe press"


def test_labels_are_resolved_from_the_cluster(status: Status) -> None:
    """What has them is a target.

    Where nothing has, it is said, and nothing is known to be as desired.
    """
    policy = POLICY.replace("names: [apps]", "matchLabels: {class: windowed}")
    code, printed = status(
        CLOSED, live("a", labels={"class": "windowed"}), live("b"), policy=policy
    )
    assert (code, row(printed)[0]) == (1, "Kustomization flux-system/a")
    code, printed = status(CLOSED, live("b"), policy=policy)
    assert (code, printed.splitlines()[-1]) == (
        1,
        "no targets: no object that was read matches the policy's `matchLabels`",
    )


def test_what_is_released(status: Status) -> None:
    """Its desired state is open while it exists, whatever the windows say."""
    policy = POLICY + "  released: [{kind: Kustomization, names: [old, gone]}]\n"
    apps = live(suspend=True, notes=OURS)
    code, printed = status(CLOSED, apps, live("old", suspend=True, notes=OURS), policy=policy)
    assert (code, row(printed)[:3]) == (1, ["Kustomization flux-system/old", "closed", "open"])
    assert "gone" not in printed
    assert status(CLOSED, apps, live("old"), policy=policy)[0] == 0


def test_a_cluster_of_its_own(status: Status) -> None:
    """`--cluster` judges by the policy as that cluster has it."""
    policy = POLICY + "  clusters: {north: {state: Open}}\n"
    assert status(CLOSED, live(), policy=policy)[0] == 1
    code, printed = status(CLOSED, live(), policy=policy, options=("--cluster", "north"))
    assert (code, printed.splitlines()[0]) == (
        0,
        "in policy.yaml: flux-system/week on north should be open: state",
    )


def test_edges_that_act(status: Status) -> None:
    """The actuator Kubectl leaves no marks, so nobody can say whose a suspension is."""
    policy = POLICY + "  actuator: {type: Kubectl}\n"
    code, printed = status(CLOSED, live(suspend=True), policy=policy)
    assert (code, row(printed)[1:4]) == (0, ["closed", "closed", "an edge, or a person"])
    assert status(OPEN, live(suspend=True), policy=policy)[0] == 1


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"a": 1}', '{"kind": "List"} x'])
def test_what_is_no_answer_of_kubectl(
    text: str, status: Status, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused in words."""
    status(OPEN)
    Path("objects.json").write_text(text)
    assert main(["status", "policy.yaml", "-f", "objects.json"]) == 1
    said = capsys.readouterr().err
    assert re.search(
        r"objects\.json:(\d+:\d+: \[error\])? is (not the output of `kubectl get -o j|empty)", said
    )


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program of that name on the PATH, which runs some lines of Bash."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    Path("policy.yaml").write_text(POLICY)

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
    lines: str, words: str, kubectl: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrapper may print what it likes: it is no fault of ours, and said in words."""
    kubectl(lines)
    assert main(["status", "policy.yaml"]) == 1
    assert words in capsys.readouterr().err


def test_the_log_of_the_last_pod_is_read(
    kubectl: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no run has succeeded: it says what the gate was denied."""
    metadata = {"name": "week-apply-1-abcde", "namespace": "flux-system", "labels": LABEL}
    ended = {"terminated": {"exitCode": 0, "finishedAt": "2026-11-21T10:00:00Z"}}
    status = {"containerStatuses": [{"name": "gate", "state": ended}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}
    line = {
        "target": "Kustomization flux-system/apps",
        "error": "403 to PATCH /: User cannot patch resource",
    }
    kubectl(f"""\
case $* in
logs*week-apply-1-abcde) echo '{json.dumps(line)}';;
*pods) echo '{json.dumps(pod)}';;
*kustomizations*) echo '{json.dumps(live())}';;
esac""")
    main(["status", "policy.yaml"])
    shown = capsys.readouterr().out
    assert row(shown)[-1] == "never: rights"
    assert "Pod week-apply-1-abcde: Kustomization flux-system/apps: 403 to PATCH" in shown


def test_why_is_asked_where_no_run_succeeds(
    kubectl: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Events are many, and read for an overdue run alone."""
    ended = job("week-resync-1", (datetime.now(UTC) - timedelta(minutes=40)).isoformat())
    kubectl(f"""\
case $* in
*cronjobs*) echo '{json.dumps(ended)}';;
*events*) echo asked >> events;;
esac""")
    main(["status", "policy.yaml"])
    assert row(capsys.readouterr().out)[-1].startswith("40 m ago")
    assert Path("events").exists()


def test_a_wrong_policy(status: Status, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is judged by it."""
    code, printed = status(OPEN, live(), policy=POLICY.replace("Mon 08:00", "Mo 08:00"))
    assert (code, printed) == (1, "")
    assert main(["status", "-", "-f", "-"]) == 2
    assert (
        "standard input can be used for the policy or the objects, but not for both"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
def test_no_cluster_by_a_variable_that_is_not_set(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name kubectl would ask whichever cluster is current."""
    assert main(["status", "policy.yaml", option, ""]) == 2
    assert "must not be empty" in capsys.readouterr().err


def test_a_cron_job_that_somebody_suspended(status: Status) -> None:
    """Nothing is opened any more, whatever the targets are now.

    The others are missing in the answer.
    """
    suspended = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "week-resync", "namespace": "flux-system", "labels": LABEL},
        "spec": {"suspend": True},
    }
    code, printed = status(CLOSED, live(suspend=True, notes=OURS), suspended)
    assert code == 1
    assert "CronJob flux-system/week-resync is suspended, so it starts no runs" in printed
    assert "CronJob flux-system/week-open-office not found" in printed


@pytest.mark.parametrize("columns", [60, 80])
def test_a_terminal_that_is_narrower_than_the_table(
    columns: int, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each target is a block, in which every cell of the table is whole."""
    _, wide = status(OPEN, live(suspend=True))
    monkeypatch.setattr(output, "width", lambda: columns)
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    _, narrow = status(OPEN, live(suspend=True))
    [table] = [line for line in wide.splitlines() if line.startswith("Kustomization ")]
    assert len(table) > columns
    cells = re.split(r"   +", table)
    block = narrow.splitlines()
    block = block[block.index(cells[0]) :]
    for cell in cells[1:]:
        assert any(re.search(rf"^  [A-Z ]+ {re.escape(cell)}$", line) for line in block)
    assert max(map(len, block)) <= columns


def planned(policy: str) -> Plan:
    """Return the plan of a policy."""
    versions, _ = Source(KubeObject.parse(policy.encode())).versions(Choice())
    plan, _ = compile_policy(versions[0].policy, None, Inventory((), visible=False))
    return plan


def gate(policy: str = POLICY) -> LiveObject:
    """Return the ConfigMap of a policy's gate as the API server gives it."""
    return json.loads(json.dumps(config_map(planned(policy))))  # type: ignore[no-any-return]


OTHER = POLICY + "  freezes: {line: {starts: 2026-11-24, ends: 2026-11-25, reason: Line down}}\n"


@pytest.mark.parametrize(
    ("applied", "code", "words", "delivered"),
    [
        (POLICY, 0, "the same windows", True),
        (OTHER, 1, "other windows", False),
        (None, 0, "unknown which windows it has, as nobody has read its ConfigMaps", None),
    ],
)
def test_which_windows_the_cluster_has(
    status: Status, applied: str | None, code: int, words: str, *, delivered: bool | None
) -> None:
    """It is told from what is written here; what is not known is said to be unknown."""
    objects = [live(suspend=True, notes=OURS)] + ([gate(applied)] if applied else [])
    ended, printed = status(CLOSED, *objects)
    assert (ended, printed.splitlines()[2]) == (
        code,
        f"in the cluster (as objects.json says): {words}",
    )
    found = json.loads(status(CLOSED, *objects, options=("-o", "json"))[1])
    assert (found["delivered"], found["askedAt"]) == (delivered, None)


def test_the_windows_of_edges_that_act(status: Status) -> None:
    """The actuator Kubectl has no timetable: its CronJobs are compared."""
    plan = planned(EDGES)
    jobs = [json.loads(json.dumps(cron_job(plan, each))) for each in plan.triggers]
    options = ("-o", "json")
    found = json.loads(status(CLOSED, live(suspend=True), *jobs, policy=EDGES, options=options)[1])
    assert found["delivered"] is True
    jobs[0]["spec"]["schedule"] = "1 2 3 4 5"
    found = json.loads(status(CLOSED, live(suspend=True), *jobs, policy=EDGES, options=options)[1])
    assert found["delivered"] is False


# What kubectl answers: of targets, of ConfigMaps, and of CronJobs and Jobs.
ANSWERS = "case $* in *kustomizations*) cat apps;; *configmaps*) %s;; *cronjobs*) cat jobs;; esac"


@pytest.fixture
def cluster(kubectl: Callable[[str], None]) -> Callable[..., None]:
    """Make what a cluster answers: whether its windows are those of the policy, and its target."""

    def make(*, suspend: bool, windows: str | None = POLICY, refused: bool = False) -> None:
        kubectl(ANSWERS % ("exit 1" if refused else "cat windows"))
        plan = planned(POLICY)
        jobs = [json.dumps(cron_job(plan, each)) for each in plan.triggers]
        Path("jobs").write_text("\n".join(jobs))
        Path("apps").write_text(json.dumps(live(suspend=suspend, notes=OURS)))
        Path("windows").write_text(json.dumps(gate(windows)) if windows else "")

    return make


def wait(clock: Clock, *options: str) -> int:
    """Run `status --wait`."""
    call = ["status", "policy.yaml", "--wait", *options]
    return cli.run(parser(COMMANDS, call).parse_args(call), clock)


def test_a_wait_ends_when_the_cluster_has_the_windows(
    cluster: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """On the way it says once what is missing, and at the end what is."""
    Path("policy.yaml").write_text(ALWAYS)
    steps = iter(
        [
            lambda: cluster(suspend=True),
            lambda: None,
            lambda: cluster(suspend=True, windows=ALWAYS),
            lambda: cluster(suspend=False, windows=ALWAYS),
        ]
    )
    cluster(suspend=True, windows=None)
    code = wait(Clock(sleep=lambda _: next(steps)()))
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert printed.err.splitlines() == [
        (
            "krm-windows: waiting: in the cluster: no windows of this policy: they have not been "
            "applied"
        ),
        "krm-windows: waiting: Kustomization flux-system/apps is closed, and should be open",
        ("krm-windows: waiting: in the cluster: other windows"),
    ]
    assert "in the cluster (asked at " in printed.out
    assert "the same windows" in printed.out


@pytest.mark.parametrize("refused", [False, True])
def test_a_wait_that_takes_too_long(
    cluster: Callable[..., None], capsys: pytest.CaptureFixture[str], *, refused: bool
) -> None:
    """It exits 124, and says what is still missing, also where nobody may read the windows."""
    cluster(suspend=False, windows=POLICY if refused else OTHER, refused=refused)
    Path("policy.yaml").write_text(ALWAYS)
    times = iter([datetime.now(UTC) + timedelta(minutes=each) for each in range(9)])
    clock = Clock(now=lambda: next(times), sleep=lambda _: None)
    assert wait(clock, "--timeout", "3m") == 124
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("krm-windows: timed out: ")
    assert ("unknown which windows" if refused else "in the cluster: other windows") in said
