"""The gate program against an API server, with faults of every kind.

And the program run as the cluster runs it.
"""

import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import copy
from threading import Timer
from time import monotonic

import pytest
import zoned
from api_server import (
    GROUP,
    TLS,
    Api,
    Fault,
    busy,
    closed_by,
    dropped,
    edited,
    ignored,
    kustomization,
    serving,
    slow,
    status,
    written,
)
from hook_runs import Clock

import krm_windows.gate
from krm_windows.gate.annotations import HOLD, annotation
from krm_windows.gate.kubernetes import AT_ONCE, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import dump, shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
OURS, THEIRS = annotation("flux-system/p"), annotation("flux-system/other")
ANNOTATION, THEIR_ANNOTATION, FORMER_ANNOTATION = (
    closed_by("flux-system/p"),
    closed_by("flux-system/other"),
    closed_by("flux-system/old"),
)


INFRA, APPS = kustomization("infra"), kustomization("apps")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(INFRA, APPS))
ALWAYS = SHUT._replace(outside_windows="Open")
UNTIL_NOON = SHUT._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - timedelta(hours=4), NOON),))


RunOnce = Callable[..., bool]


@pytest.fixture
def run_once(port: int, account: Path) -> RunOnce:
    def once(
        timetable: Timetable,
        now: Callable[[], datetime] = _eleven,
        *,
        missing: bool = False,
        timeout: float = 0.5,
    ) -> bool:
        gate = Gate(shipped(timetable), partial(decide, timetable), now)
        return gate.run(Cluster("127.0.0.1", str(port), account, timeout), allow_missing=missing)

    return once


def _eleven() -> datetime:
    return NOON - timedelta(hours=1)


def state(api: Api, name: str) -> tuple[object, set[str]]:
    notes = dig(api.object(name), "metadata", "annotations")
    suspended = dig(api.object(name), "spec", "suspend")
    return suspended, set(notes) if isinstance(notes, dict) else set()


def test_closes_and_opens(api: Api, run_once: RunOnce) -> None:
    assert run_once(SHUT)
    assert [state(api, name) for name in ("infra", "apps")] == [(True, {OURS})] * 2
    assert 1 <= api.asked.count(f"GET /apis/{GROUP}") <= AT_ONCE
    assert run_once(SHUT)
    assert sorted(api.writes()) == ["apps", "infra"]
    assert run_once(ALWAYS)
    assert [state(api, name) for name in ("infra", "apps")] == [(False, set())] * 2


def test_patches_name_their_manager_and_what_differs(api: Api, run_once: RunOnce) -> None:
    run_once(SHUT._replace(targets=(APPS._replace(version="v1"),)))
    assert f"GET /apis/{GROUP}" not in api.asked
    assert api.asked[-1].endswith("/kustomizations/apps?fieldManager=krm-windows")
    text = (
        '{"policy": "flux-system/p", "reason": "no window is open", "since": null, "until": null}'
    )
    assert api.bodies[-1] == {
        "metadata": {"resourceVersion": "102", "annotations": {OURS: text}},
        "spec": {"suspend": True},
    }


def test_a_conflict_is_routine(api: Api, run_once: RunOnce) -> None:
    """Flux wrote the status in between: read again, decide again, write."""
    api.fault(
        "PATCH", "apps", *[edited("apps", {"status": {"observedGeneration": n}}) for n in range(4)]
    )
    assert run_once(SHUT)
    assert state(api, "apps") == (True, {OURS})
    assert dig(api.object("apps"), "status", "observedGeneration") == 3
    assert sorted(api.writes()) == ["apps"] * 5 + ["infra"]


@pytest.mark.parametrize("code", [429, 503])
def test_a_patch_that_had_to_wait_is_decided_anew(api: Api, run_once: RunOnce, code: int) -> None:
    """The window has ended while the server was busy: what would have opened late is not sent."""
    api.add("apps", {"suspend": True}, annotations={OURS: ANNOTATION}, by="krm-windows")
    api.fault("PATCH", "apps", busy("1", code))

    def now() -> datetime:
        return NOON if api.writes() else NOON - timedelta(seconds=1)

    run_once(UNTIL_NOON, now, timeout=5)
    assert not [body for body in api.bodies if dig(body, "spec", "suspend") is False]
    assert state(api, "apps")[0] is True


@pytest.mark.parametrize("code", [500, 504])
def test_a_patch_that_is_written_whatever_the_answer_says(
    api: Api, run_once: RunOnce, code: int
) -> None:
    """A proxy in between has given up: the target is read again, and judged by what it is."""
    api.fault("PATCH", "apps", written(code))
    assert run_once(SHUT)
    assert state(api, "apps") == (True, {OURS})
    assert sorted(api.writes()) == ["apps", "infra"]


@pytest.mark.parametrize(("code", "tries"), [(403, 1), (422, 1), (409, 5), (500, 5)])
def test_a_patch_that_is_refused(api: Api, run_once: RunOnce, code: int, tries: int) -> None:
    api.fault("PATCH", "apps", *[status(code, "the webhook says no")] * 9)
    assert not run_once(SHUT)
    assert sorted(api.writes()) == ["apps"] * tries + ["infra"]
    assert state(api, "infra") == (True, {OURS})


@pytest.mark.parametrize(
    ("policies", "change", "notes"),
    [
        ((ALWAYS, SHUT), {"spec": {"suspend": True}}, set()),
        ((SHUT, ALWAYS), {"metadata": {"annotations": {HOLD: "ann"}}}, {OURS, HOLD}),
    ],
    ids=["suspends it", "holds it"],
)
def test_a_person_comes_in_between(
    api: Api,
    run_once: RunOnce,
    policies: tuple[Timetable, Timetable],
    change: dict[str, object],
    notes: set[str],
) -> None:
    run_once(policies[0])
    api.fault("PATCH", "apps", edited("apps", change))
    assert run_once(policies[1])
    assert state(api, "apps") == (True, notes)


@pytest.mark.parametrize("fault", [(403, "not permitted yet: 403 "), (404, "404 to ")])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_faults_of_one_target(
    api: Api,
    run_once: RunOnce,
    capsys: pytest.CaptureFixture[str],
    method: str,
    fault: tuple[int, str],
) -> None:
    """On a new cluster a namespace has no Role yet."""
    code, words = fault
    api.fault(method, "infra", status(code))
    assert not run_once(SHUT)
    assert state(api, "apps") == (True, {OURS})
    log = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert log[-1]["failed"] == ["Kustomization flux-system/infra"]
    (said,) = [line for line in log if "error" in line]
    assert said["target"] == "Kustomization flux-system/infra"
    assert said["error"].startswith(words)
    assert run_once(SHUT)
    assert state(api, "infra") == (True, {OURS})


def test_no_line_of_the_log_is_long(
    api: Api, run_once: RunOnce, capsys: pytest.CaptureFixture[str]
) -> None:
    run_once(SHUT)
    api.fault("PATCH", "apps", edited("apps", {"metadata": {"annotations": {HOLD: "ü" * 262_000}}}))
    api.fault("GET", "infra", *[status(403, "\n" * 900_000)] * 9)  # also where one takes too long
    assert not run_once(ALWAYS)
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line).get("action") for line in lines].count("Held") == 1
    assert "403 to GET" in "".join(lines)
    assert max(map(len, lines)) < 2500


@pytest.mark.parametrize("fault", [slow(1.5), dropped])
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_no_answer_for_one_target(
    api: Api, run_once: RunOnce, method: str, fault: Callable[..., bool]
) -> None:
    api.fault(method, "infra", fault)
    assert run_once(SHUT)
    assert [state(api, name) for name in ("infra", "apps")] == [(True, {OURS})] * 2
    api.fault(method, "infra", *[dropped] * 20)
    api.add("infra", {})
    assert not run_once(SHUT)


@pytest.mark.slow  # as long as 24 requests that are stalled
def test_a_patch_that_timed_out_is_tried_again(api: Api, run_once: RunOnce) -> None:
    """Many Jobs start at one edge, and the server stalls the first patch of each target."""
    targets = tuple(kustomization(f"t{number}", "v1") for number in range(96))
    for target in targets:
        api.add(target.name, {})
        api.fault("PATCH", target.name, slow(4))
    assert run_once(SHUT._replace(targets=targets), timeout=2)
    assert {state(api, target.name)[0] for target in targets} == {True}


def test_a_fault_in_discovery(api: Api, run_once: RunOnce) -> None:
    api.fault("GET", GROUP, status(500))
    assert run_once(SHUT)


def test_an_answer_that_does_not_do_it(api: Api, run_once: RunOnce) -> None:
    api.fault("PATCH", "apps", *[ignored] * 5)
    assert not run_once(SHUT)


def test_time_is_bounded(api: Api, run_once: RunOnce) -> None:
    targets = tuple(kustomization(f"t{n}") for n in range(40))
    for target in targets:
        api.add(target.name, {})
        api.fault("GET", target.name, *[slow(0.3)] * 2)
    started = monotonic()
    assert not run_once(SHUT._replace(targets=targets), timeout=0.1)
    assert monotonic() - started < 3


def test_missing_targets(api: Api, run_once: RunOnce) -> None:
    del api.objects[next(path for path in api.objects if path.endswith("infra"))]
    assert not run_once(SHUT)
    assert run_once(SHUT, missing=True)
    assert run_once(SHUT._replace(targets=(APPS,), released=(INFRA,)))


def in_a_conflict(clock: Clock) -> Fault:
    return lambda handler: clock.at(NOON)(handler) or edited("apps", {"status": {}})(handler)


@pytest.mark.parametrize(
    ("method", "fault", "written"),
    [
        ("GET", lambda clock: clock.at(NOON), [None]),
        ("PATCH", in_a_conflict, [False, None]),
        ("PATCH", lambda clock: clock.at(NOON), [False, True]),
    ],
    ids=["while reading", "in a conflict", "while writing"],
)
def test_the_edge_passes(
    api: Api, run_once: RunOnce, method: str, fault: Callable[[Clock], Fault], written: list[object]
) -> None:
    """What is written as the window ends is closed again at once."""
    run_once(SHUT)
    clock = Clock(NOON - SECOND)
    api.fault(method, "apps", fault(clock))
    assert run_once(UNTIL_NOON._replace(targets=(APPS,)), clock)
    assert [dig(body, "spec", "suspend") for body in api.bodies[2:]] == written
    assert state(api, "apps") == (True, {OURS})


@pytest.mark.parametrize(
    ("certificate", "ca"), [("server.crt", "other-ca.crt"), ("elsewhere.crt", "ca.crt")]
)
def test_an_api_server_that_cannot_prove_itself(
    api: Api, account: Path, certificate: str, ca: str
) -> None:
    copy(TLS / ca, account / "ca.crt")
    gate = Gate(shipped(SHUT), partial(decide, SHUT), lambda: NOON)
    with serving(api, certificate) as port:
        assert not gate.run(Cluster("127.0.0.1", str(port), account), allow_missing=True)
    assert api.asked == []


def test_certificates_of_common_distributions(account: Path, port: int) -> None:
    """Theirs fail `VERIFY_X509_STRICT`, which Python 3.13 sets; the test's CA is one of them."""
    strict = ssl.create_default_context(cafile=account / "ca.crt")
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        strict.wrap_socket(plain, server_hostname="127.0.0.1")
    assert Cluster("127.0.0.1", str(port), account).get(APPS)


Run = Callable[..., tuple[int, list[dict[str, object]]]]


@pytest.fixture
def run(tmp_path: Path, port: int, account: Path) -> Run:
    package = tmp_path / "gate" / "krm_windows" / "gate"
    package.mkdir(parents=True)
    for module in Path(krm_windows.gate.__path__[0]).glob("*.py"):
        copy(module, package)
    entry = (
        "from datetime import UTC, datetime, timedelta\n"
        "from krm_windows.gate.__main__ import main\n"
        "clock = lambda: datetime.now(UTC) + timedelta(seconds={})\n"
        "raise SystemExit(main(pauses=(0.1, 0.1), clock=clock, patience=2))\n"
    )
    for module in ("zoneinfo", "tzdata"):  # found before those of the image, if it had any
        (tmp_path / "gate" / f"{module}.py").write_text(
            f"raise ImportError('an image without {module}')"
        )
    environment = os.environ | {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(port),
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }

    def program(
        timetable: str,
        *flags: str,
        ahead: int = 0,
        said: Callable[[dict[str, object]], None] = lambda _: None,
    ) -> tuple[int, list[dict[str, object]]]:
        (tmp_path / "gate" / "__main__.py").write_text(entry.format(ahead))
        (tmp_path / "gate" / "timetable.json").write_text(timetable)
        python = getattr(sys, "_base_executable", sys.executable)
        command = [
            python,
            "-I",
            "-Werror",
            str(tmp_path / "gate"),
            "--account",
            str(account),
            *flags,
        ]
        log = []
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as done:
            assert done.stdout is not None
            overdue = Timer(60, done.kill)
            overdue.start()
            for line in done.stdout:
                log.append(json.loads(line))
                said(log[-1])
            overdue.cancel()
        return done.returncode, log

    return program


def text(timetable: Timetable) -> str:
    return json.dumps(dump(timetable))


def test_run_closes(api: Api, run: Run) -> None:
    code, log = run(text(SHUT))
    assert code == 0
    assert [state(api, name)[0] for name in ("infra", "apps")] == [True, True]
    assert [list(line) for line in log] == [
        ["time", "policy", "cluster", "open", "rules", "reason", "since", "until", "cause"],
        ["target", "action", "message"],
        ["target", "action", "message"],
        ["failed", "skewSeconds"],
    ]
    skew = log[-1]["skewSeconds"]
    assert isinstance(skew, int)
    assert abs(skew) <= 5


@pytest.mark.parametrize("instant", ["1970-01-01T00:00:00+14:00", "8999-12-31T23:59:59-14:00"])
def test_run_outside_the_table(run: Run, instant: str) -> None:
    code, [said] = run(text(SHUT), "--at", instant)
    assert (code, said["open"]) == (1, False)
    assert "is not in the table of days" in str(said["reason"])


@pytest.mark.parametrize(
    "changed",
    [{"formatVersion": 3}, {"freezes": {}}, {"days": {"2020-01-01": ".", "2020-02-01": ""}}],
)
def test_run_without_a_decision(api: Api, run: Run, changed: dict[str, object]) -> None:
    api.add("infra", {"suspend": True}, annotations={OURS: ANNOTATION})
    code, log = run(json.dumps(dump(ALWAYS) | changed))
    assert code == 1
    assert str(log[0]["reason"]).startswith("cannot be decided")
    assert [state(api, name)[0] for name in ("infra", "apps")] == [True, True]


@pytest.mark.parametrize("broken", ["", "[]", '{"formatVersion": 1}'])
def test_run_with_nothing_to_name(api: Api, run: Run, broken: str) -> None:
    assert run(broken)[0] == 1
    assert api.asked == []


def test_it_waits_for_the_files_that_it_is_to_decide_by(api: Api, run: Run, tmp_path: Path) -> None:
    """kubelet may mount the ConfigMap as it was."""
    folder = tmp_path / "gate"
    (folder / "digest").write_text("old")

    def come(line: dict[str, object]) -> None:
        if line.get("action") == "Waiting":
            (folder / "timetable.json").write_text(text(SHUT))
            (folder / "digest").write_text("new")

    code, log = run(text(ALWAYS), "--digest", "new", said=come)
    assert code == 0
    assert log[0] == {
        "action": "Waiting",
        "message": "waiting for the ConfigMap that this Job was created with",
    }
    assert log[1]["open"] is False
    assert state(api, "infra") == (True, {OURS})
