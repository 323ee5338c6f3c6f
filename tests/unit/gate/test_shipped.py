"""The program as it is shipped with hooks and Events.

From the emitted ConfigMap, by an interpreter of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from api_server import Api, closed_by
from calls import APPS, call, spec, wire

from krm_windows.gate.annotations import annotation
from krm_windows.gate.objects import dig

PARTS = 'hooks: {namespace: line, beforeOpen: {image: "line:1"}}\n  events: true\n  state: Open\n'
ANNOTATED: dict[str, object] = {annotation("flux-system/week"): closed_by("flux-system/week")}
Run = Callable[..., tuple[int, list[dict[str, object]]]]


@pytest.fixture
def run(tmp_path: Path, port: int, account: Path) -> Run:
    """The program, laid out as the volume lays it out."""
    found = yaml.load(
        call(wire(APPS, config=spec().rstrip("\n") + f"\n  {PARTS}")).out, yaml.CSafeLoader
    )["items"]
    [data] = [item["data"] for item in found if "data" in item]
    [pod] = [item["spec"]["template"]["spec"] for item in found if item["kind"] == "Job"]
    for item in pod["volumes"][0]["configMap"]["items"]:
        path = tmp_path / "gate" / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data[item["key"]])
    environment = os.environ | {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(port),
    }

    def program(*flags: str) -> tuple[int, list[dict[str, object]]]:
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
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert not done.stderr
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    return program


def test_it_runs_a_hook_opens_and_reports(api: Api, run: Run) -> None:
    """One Job, one target opened, one Event."""
    path = "/api/v1/namespaces/flux-system/configmaps/week-hooks"
    api.store(path, {"metadata": {"name": "week-hooks"}})
    api.add(
        "apps",
        {"suspend": True},
        annotations=ANNOTATED,
        status={"lastAppliedRevision": "1"},
    )
    code, log = run()
    assert (code, dig(api.object("apps"), "spec", "suspend")) == (0, False)
    assert [name.rsplit("-", 2)[0] for name in api.jobs()] == ["week-before-open"]
    assert [live["reason"] for path, live in api.objects.items() if "/events/" in path] == [
        "WindowOpened"
    ]
    assert {"hook", "job", "failure"} in [set(line) for line in log]


def test_at_an_instant_it_only_prints(api: Api, run: Run) -> None:
    """Neither a Job is created nor anything asked."""
    code, log = run("--at", "2026-11-23T09:00:00Z")
    assert (code, len(log), log[0]["open"], api.asked) == (0, 1, True, [])
