"""The program as the image has it: which parts run, what it imports, which formats it reads."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from api_server import Api, closed_by
from calls import POLICY, call, wire

from krm_windows.gate.__main__ import main
from krm_windows.gate.annotations import annotation
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import FORMAT_VERSION

RECORDED = Path(__file__).parents[2] / "fixtures/timetables"
# Images of the first release read 2 alone: what 1 held were rules.
FORMATS = [version for version in (FORMAT_VERSION - 1, FORMAT_VERSION) if version > 1]
DIGEST = f"sha256:{'0' * 64}"
OPEN = "  state: Open\n"
IN_IMAGE = f"{OPEN}  actuator: {{program: Image, image: 'krm-windows@{DIGEST}'}}\n"
HOOKS = "  hooks: {namespace: line, beforeOpen: {image: 'line:1'}}\n"
EVENTS = "  events: true\n"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, port: int, account: Path) -> Run:
    server = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}

    def program(more: str, change: Callable[[dict], object] = lambda _: None) -> tuple[int, str]:
        items = call(wire(config=POLICY.rstrip("\n") + "\n" + more)).objects
        [data] = [item["data"] for item in items if "data" in item]
        jobs = [item["spec"]["jobTemplate"] for item in items if item["kind"] == "CronJob"]
        pod = jobs[0]["spec"]["template"]["spec"]
        timetable = json.loads(data["timetable.json"])
        change(timetable)
        data["timetable.json"] = json.dumps(timetable)
        places = [{"key": key, "path": key} for key in data]
        for place in pod["volumes"][0]["configMap"].get("items", places):
            path = tmp_path / "files" / place["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(data[place["key"]])
        # Of the image: that of the ConfigMap is not to find what is installed.
        is_shipped = "package.__init__.py" in data
        python = getattr(sys, "_base_executable", sys.executable) if is_shipped else sys.executable
        [container] = pod["containers"]
        mount, command = container["volumeMounts"][0]["mountPath"], container["command"]
        given = [str(tmp_path / "files") if each == mount else each for each in command]
        done = subprocess.run(
            [python, "-Werror", "-X", "importtime", *given[1:], "--account", str(account)],
            env=os.environ | server,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    return program


@pytest.fixture
def run_at(
    api: Api, port: int, account: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path, datetime], int]:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))

    def program(files: Path, at: datetime) -> int:
        api.ahead = at - datetime.now(UTC)
        options = ["gate", "--account", str(account), "--files", str(files)]
        monkeypatch.setattr(sys, "argv", options)
        return main(clock=lambda: at)

    return program


@pytest.fixture
def closed(api: Api) -> Api:
    store_note(api, "week-hooks")
    policy = yaml.safe_load(POLICY)["metadata"]
    name = f"{policy['namespace']}/{policy['name']}"
    for target in ("infra", "apps"):
        close(api, target, name)
    return api


def store_note(api: Api, name: str) -> None:
    api.store(f"/api/v1/namespaces/flux-system/configmaps/{name}", {"metadata": {"name": name}})


def close(api: Api, target: str, policy: str) -> None:
    annotations: dict[str, object] = {annotation(policy): closed_by(policy)}
    status = {"lastAppliedRevision": "1"}
    api.add(target, {"suspend": True}, annotations=annotations, by="krm-windows", status=status)


def suspended(api: Api, target: str = "apps") -> bool:
    return dig(api.object(target), "spec", "suspend") is True


def asked_for(api: Api, what: str) -> bool:
    return any(line.startswith("POST") and f"/{what}" in line for line in api.asked)


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        (IN_IMAGE, set()),
        (IN_IMAGE + EVENTS, {"events"}),
        (IN_IMAGE + HOOKS, {"jobs"}),
        (IN_IMAGE + HOOKS + EVENTS, {"events", "jobs"}),
        (OPEN, set()),
        (OPEN + HOOKS + EVENTS, {"events", "jobs"}),
    ],
)
def test_parts_run_where_the_timetable_asks_for_them(
    closed: Api, run: Run, more: str, parts: set[str]
) -> None:
    closed.ends["before-open"] = "Complete"
    code, said = run(more)
    assert code == 0, said
    assert not suspended(closed)
    assert {part for part in ("events", "jobs") if asked_for(closed, part)} == parts


def test_nothing_opens_without_a_part_that_it_lacks(closed: Api, run: Run) -> None:
    """As after an upgrade of what renders, and not of the image."""
    code, said = run(IN_IMAGE, lambda timetable: timetable.update(parts=["approval"]))
    assert code == 1
    assert "krm_windows.gate.approval" in said
    assert suspended(closed)


def test_it_imports_nothing_else_of_ours(run: Run) -> None:
    """What a reviewer of the gate reads is what runs: the package `gate`, and nothing beside it."""
    code, said = run(IN_IMAGE)
    assert code == 0, said
    modules = {line.rpartition("|")[2].strip() for line in said.splitlines() if "|" in line}
    ours = {name for name in modules if name.startswith("krm_windows")}
    assert {name for name in ours if not name.startswith("krm_windows.gate")} == {"krm_windows"}
    assert modules.isdisjoint({"yaml", "tzdata", "zoneinfo"})


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        ("2026-12-17T15:58:00+00:00", True),  # Thursday, 16:58 in Berlin
        ("2026-12-17T16:00:00+00:00", False),
        ("2026-12-22T10:00:00+00:00", True),  # an override within a freeze
        ("2026-12-23T10:00:00+00:00", False),
        ("2035-10-04T14:58:00+00:00", True),
        ("2035-10-04T15:00:00+00:00", False),
    ],
)
@pytest.mark.parametrize("version", FORMATS)
def test_it_reads_this_format_and_the_one_before(
    version: int,
    at: str,
    opens: bool,  # noqa: FBT001
    api: Api,
    run_at: Callable[[Path, datetime], int],
) -> None:
    """Whichever of the image and what renders is upgraded first: tables as they were written."""
    store_note(api, "recorded-hooks")
    for name in ("apps", "infra"):
        close(api, name, "flux-system/recorded")
    api.ends["before-open"] = "Complete"
    code = run_at(RECORDED / f"format-{version}", datetime.fromisoformat(at))
    assert (code, suspended(api, "apps"), suspended(api, "infra")) == (0, not opens, not opens)
    assert bool(api.jobs()) == opens
    assert asked_for(api, "events") == opens
