"""The program's own course, in this process: its options, its second tries, its exit codes."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path

import pytest
import zoned
from api_server import Api, closed_by, kustomization, status

from krm_windows.gate import __main__ as program
from krm_windows.gate.annotations import annotation
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.timetable import Decision
from krm_windows.plan.timetable import dump, shipped
from krm_windows.schedule.timetable import Kind, Rule, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OURS = annotation("flux-system/p")
INFRA, APPS = kustomization("infra"), kustomization("apps")
SHUT = zoned.timetable(policy="flux-system/p", time_zone="UTC", targets=(INFRA, APPS))
ALWAYS = SHUT._replace(outside_windows="Open")
MORNING = SHUT._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - timedelta(hours=4), NOON),))


class Program:
    def __init__(
        self,
        files: Path,
        account: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self.files = files
        self._account = account
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.setattr(program, "FILES", files)

    def put(self, timetable: Timetable | str) -> None:
        text = timetable if isinstance(timetable, str) else json.dumps(dump(timetable))
        (self.files / "timetable.json").write_text(text)

    def __call__(
        self, *flags: str, patience: float = 0.0, **given: Callable[..., object]
    ) -> tuple[int, list[dict[str, object]]]:
        arguments = ["gate", "--account", str(self._account), *flags]
        self._monkeypatch.setattr(sys, "argv", arguments)
        code = program.main(pauses=(0.01, 0.01), patience=patience, **given)  # type: ignore[arg-type]
        return code, [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]


@pytest.fixture
def gate(
    tmp_path: Path,
    port: int,
    account: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Program:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
    files = tmp_path / "files"
    files.mkdir()
    return Program(files, account, monkeypatch, capsys)


def suspended(api: Api) -> list[object]:
    return [dig(api.object(name), "spec", "suspend") for name in ("infra", "apps")]


def failures(log: list[dict[str, object]]) -> list[object]:
    return [line["failed"] for line in log if "failed" in line]


def test_the_last_target_comes_first(api: Api, gate: Program) -> None:
    gate.put(SHUT)
    api.objects.clear()
    for flags, want in (((), ["infra", "apps"]), (("--backwards",), ["apps", "infra"])):
        _, log = gate(*flags)
        assert failures(log) == [[f"Kustomization flux-system/{name}" for name in want]]


def test_a_failure_is_its_exit_code(api: Api, gate: Program) -> None:
    gate.put(SHUT)
    api.fault("PATCH", "infra", status(403))
    code, log = gate()
    assert (code, failures(log)) == (1, [["Kustomization flux-system/infra"]])


@pytest.mark.parametrize(("faults", "runs", "left"), [(0, 1, False), (1, 2, False), (3, 3, True)])
def test_what_is_left_to_the_next_run(
    api: Api, gate: Program, faults: int, runs: int, *, left: bool
) -> None:
    gate.put(SHUT)
    api.fault("PATCH", "infra", *[status(403)] * faults)
    code, log = gate("--leave-to-next")
    assert (code, len(failures(log))) == (0, runs)
    assert ({"action": "LeftToNextRun", "message": "retrying in the next run"} in log) == left


@pytest.mark.parametrize(
    ("instant", "is_open"), [("2026-11-20T12:59:59+01:00", True), ("2026-11-20T12:00:00Z", False)]
)
def test_it_decides_for_an_instant(api: Api, gate: Program, instant: str, *, is_open: bool) -> None:
    gate.put(MORNING)
    code, [decision] = gate("--at", instant)
    assert (code, decision["open"], api.asked) == (0, is_open, [])


@pytest.mark.parametrize("text", ["soon", "2026-11-20T09:00:00"])
def test_what_is_no_instant(gate: Program, text: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        gate("--at", text)


@pytest.mark.parametrize(("timetable", "want"), [(SHUT, [True, True]), (ALWAYS, [None, None])])
def test_what_breaks_around_a_run(
    api: Api, gate: Program, timetable: Timetable, want: list[object]
) -> None:
    gate.put(json.dumps(dump(timetable) | {"parts": ["unheard_of"]}))
    code, log = gate()
    assert "krm_windows.gate.unheard_of" in str(log[1]["error"])
    assert (code, suspended(api)) == (1, want)


@pytest.mark.parametrize("before", range(1, 7))
def test_what_breaks_around_a_run_opens_nothing(api: Api, gate: Program, before: int) -> None:
    """Also where a window opens meanwhile, after any look at the clock; nor what is released."""
    opening = SHUT._replace(
        targets=(INFRA,),
        released=(APPS,),
        windows=(Rule(Kind.WINDOW, "later", NOON, NOON + timedelta(hours=1)),),
    )
    for name in ("infra", "apps"):
        closed = {OURS: closed_by("flux-system/p")}
        api.add(name, {"suspend": True}, annotations=closed, by="krm-windows")
    gate.put(json.dumps(dump(opening) | {"parts": ["unheard_of"]}))
    api.ahead = NOON - datetime.now(UTC)
    times = chain(repeat(NOON - timedelta(seconds=30), before), repeat(NOON))
    code, _ = gate(clock=lambda: next(times))
    assert (code, suspended(api)) == (1, [True, True])


def test_an_edge_that_is_near_is_awaited(api: Api, gate: Program) -> None:
    gate.put(MORNING)
    ahead = NOON - timedelta(seconds=0.3) - datetime.now(UTC)
    code, log = gate(clock=lambda: datetime.now(UTC) + ahead)
    # The API server's clock says another day than this one: nothing is right before both say so.
    assert code == 1
    assert [line["open"] for line in log if "open" in line] == [True, False]
    assert suspended(api) == [True, True]


def test_an_edge_that_is_far_is_not_awaited(gate: Program) -> None:
    """That is for the CronJob at the edge."""
    gate.put(MORNING)
    _, log = gate(clock=lambda: NOON - timedelta(seconds=61))
    assert [line["open"] for line in log if "open" in line] == [True]


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ("mine", []),
        # Another apply has overtaken it: what is there counts, after a while.
        (
            "another",
            [
                "waiting for the ConfigMap that this Job was created with",
                "continuing with another ConfigMap than this Job was created with",
            ],
        ),
    ],
)
def test_the_files_of_a_job(gate: Program, there: str, words: list[str]) -> None:
    gate.put(SHUT)
    (gate.files / "digest").write_text(there)
    code, log = gate("--digest", "mine")
    said = [line["message"] for line in log if line.get("action") in ("Waiting", "Continuing")]
    assert (code, said) == (0, words)


def test_no_time_is_left(api: Api, port: int, account: Path) -> None:
    cluster = Cluster("127.0.0.1", str(port), account, timeout=0)
    held = Gate(shipped(SHUT), lambda _: Decision(open=False, reason="it is a test"), lambda: NOON)
    assert not held.run(cluster, allow_missing=False)
    assert api.asked == []
