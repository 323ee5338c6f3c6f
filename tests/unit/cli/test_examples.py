"""The examples of `--help`: a repository in which a reader may be, and every line run there."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import APPS, CLASSES, POLICY, SYNC
from committed import put_under_git
from forges import TOKEN, Pull
from forges import serving as forge
from served import kustomization
from served import serving as cluster

from krm_windows.cli import main
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.examples import EXAMPLES

# Open whenever the test runs, so that nobody waits.
OPEN = """\
  overrides:
    trial: {state: Open, starts: "2024-01-01", ends: "2098-01-01", reason: a trial}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"
BY_HAND = """\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: {verb}-shop, namespace: flux-system}}
spec:
  schedule: "{schedule}"
  timeZone: Europe/Berlin
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: flux
            image: ghcr.io/fluxcd/flux-cli:v2.9.5
            command: [flux, {verb}, kustomization, shop]
"""
CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;VALUE=DATE:20271224
DTEND;VALUE=DATE:20271227
SUMMARY:Closed
END:VEVENT
END:VCALENDAR
"""
FILES = {
    "windows/policy.yaml": POLICY + OPEN,
    "old.yaml": POLICY,
    "new.yaml": POLICY.replace("Thu 17:00", "Fri 12:00"),
    "patch.json": '{"spec": {"windows": {"office": {"closes": "Fri 12:00"}}}}',
    "classes.yaml": CLASSES,
    ".github/merge-gate.yaml": "clusters: clusters/*\n",
    "company.ics": CALENDAR.replace("\n", "\r\n"),
    "clusters/north/flux-system.yaml": SYNC,
    "clusters/north/apps.yaml": APPS,
    "clusters/north/kustomization.yaml": (
        "resources: [flux-system.yaml, apps.yaml, ../../windows/rendered]\n"
    ),
    "clusters/north/by-hand/open.yaml": BY_HAND.format(verb="resume", schedule="0 8 * * 1"),
    "clusters/north/by-hand/close.yaml": BY_HAND.format(verb="suspend", schedule="0 17 * * 4"),
    "apps/kustomization.yaml": "resources: [web.yaml]\n",
    "apps/web.yaml": CONFIG_MAP,
    "deploy": "#!/bin/sh\n",
}
WIDEST = 76


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "fleet"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (place / "deploy").chmod(0o755)
    monkeypatch.chdir(place)
    assert main(["render", "windows/policy.yaml", "--output-dir", "windows/rendered"]) == 0
    (place / "objects.json").write_text("\n".join(map(json.dumps, objects())))
    git = put_under_git(place, Path("git"))
    (place / "apps/web.yaml").write_text(CONFIG_MAP + "data: {color: blue}\n")
    git("commit", "--quiet", "--all", "--message=Blue")
    return place


@pytest.fixture
def surroundings(here: Path, function: Path, tool: Callable[[str], Path]) -> Iterator[dict]:
    programs = {str(tool(name).parent) for name in ("git", "kubectl", "kustomize")}
    with cluster(*objects()) as north, forge("gitea", Pull(7, "ab12", ())) as gitea:
        (here.parent / "kubeconfig").write_text(json.dumps(kubeconfig(north.address)))
        yield {
            **os.environ,
            "PATH": os.pathsep.join([str(function.parent), *programs, os.environ["PATH"]]),
            "HOME": str(here.parent),
            "KUBECONFIG": str(here.parent / "kubeconfig"),
            "GITEA_TOKEN": TOKEN,
            "FORGE": gitea.address,
        }


def objects() -> list[dict[str, Any]]:
    files = sorted(Path("windows/rendered").glob("cronjob_*.yaml"))
    return [kustomization("apps"), *(yaml.safe_load(path.read_text()) for path in files)]


def kubeconfig(address: str) -> dict[str, object]:
    context = {"cluster": "north", "user": "nobody"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "north", "cluster": {"server": address}}],
        "users": [{"name": "nobody", "user": {}}],
        "contexts": [{"name": "north", "context": context}],
    }


def test_every_command_has_one() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    for command, examples in EXAMPLES.items():
        assert examples
        for example in examples:
            assert f"krm-windows {command}" in example
            assert max(map(len, example.split("\n"))) <= WIDEST, example


@pytest.mark.slow  # programs, a cluster and a forge
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"completion", "serve"}))
def test_it_runs_as_it_is_shown(command: str, surroundings: dict[str, str]) -> None:
    if command in ("init", "migrate"):
        no_windows_yet()
    for example in EXAMPLES[command]:
        subprocess.run("git clean -fdq && git checkout -q .", shell=True, check=True)  # noqa: S602
        # The one address that has to be somebody's.
        script = example.replace("https://gitea.example.com/api/v1", surroundings["FORGE"])
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{example}\n{done.stdout}{done.stderr}"


def no_windows_yet() -> None:
    shutil.rmtree("windows")
    Path("old.yaml").unlink()
    Path("new.yaml").unlink()
    Path("clusters/north/kustomization.yaml").write_text(
        "resources: [flux-system.yaml, apps.yaml, by-hand/open.yaml, by-hand/close.yaml]\n"
    )
    subprocess.run(["git", "commit", "--quiet", "--all", "--message=None yet"], check=True)


@pytest.mark.slow  # shells
@pytest.mark.parametrize("example", EXAMPLES["completion"])
def test_the_shells_take_theirs(
    example: str, surroundings: dict[str, str], tool: Callable[[str], Path]
) -> None:
    [shell] = {"bash", "zsh", "fish"} & set(example.replace(")", " ").split())
    command = [tool(shell), "-c", example]
    if shell == "zsh":
        command = [tool(shell), "-f", "-c", f"autoload -Uz compinit; compinit -u -D; {example}"]
    done = subprocess.run(
        command, env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow  # a server
def test_the_service_starts(surroundings: dict[str, str]) -> None:
    new, serve = EXAMPLES["serve"]
    made = subprocess.run(
        ["bash", "-c", new], env=surroundings, capture_output=True, text=True, check=True
    )
    Path("tokens.txt").write_text(made.stdout)
    Path("tokens.txt").chmod(0o600)
    subprocess.run(["git", "clone", "--quiet", "--bare", ".", "fleet.git"], check=True)
    command = ["bash", "-c", f"exec {serve} --port 0"]
    with subprocess.Popen(command, env=surroundings, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert "serving on http://127.0.0.1:" in process.stderr.readline()
        process.terminate()
