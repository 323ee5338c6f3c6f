"""The gate program as a Pod finds it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from krm_windows.cli import main

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml"

Python = Callable[..., subprocess.CompletedProcess[str]]

MOMENTS = {
    "2026-11-25T12:00:00+00:00": (True, ["windows.working-week"]),
    "2026-11-27T12:00:00+00:00": (False, []),
    "2026-12-22T12:00:00+00:00": (False, ["freezes.christmas"]),
}


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    # What lies beside an output is read, so it has a folder of its own around it.
    folder = tmp_path_factory.mktemp("rendered") / "windows"
    assert main(["render", str(POLICY), "--output-dir", str(folder)]) == 0
    texts = [path.read_text() for path in sorted(folder.rglob("*.yaml"))]
    return {
        found["kind"]: found
        for text in texts
        for found in yaml.load_all(text, Loader=yaml.CSafeLoader)
    }


@pytest.fixture(scope="module")
def volume(emitted: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in a dated folder; `..data` points at it, and links lead to what lies in `..data`."""
    mount = tmp_path_factory.mktemp("gate")
    data = mount / "..2026_11_21_10_51_26.123456789"
    pod = emitted["Job"]["spec"]["template"]["spec"]
    for item in pod["volumes"][0]["configMap"]["items"]:
        path = data / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(emitted["ConfigMap"]["data"][item["key"]])
        path.chmod(0o644)
    (mount / "..data").symlink_to(data.name)
    for entry in data.iterdir():
        (mount / entry.name).symlink_to(Path("..data", entry.name))
    for folder in (mount, *mount.rglob("*/")):
        folder.chmod(0o755)
    return mount


@pytest.fixture(params=["this Python", pytest.param("the next Debian's", marks=pytest.mark.slow)])
def python(request: pytest.FixtureRequest, volume: Path, pins: dict[str, dict[str, str]]) -> Python:
    if request.param == "this Python":
        prefix = [sys.executable, "-I", volume]
    else:
        engine, base = request.getfixturevalue("podman"), pins["image"]["base"]
        hardened = ["--read-only", "--network=none", "--user=65532:65532", "--cap-drop=all"]
        mount = f"--volume={volume}:/gate:ro"
        prefix = [engine, "run", "--rm", *hardened, mount, base, "python3", "-I", "/gate"]
    return lambda *more: subprocess.run(
        [*prefix, *more], capture_output=True, text=True, check=False
    )


def test_the_command_is_the_one_that_is_emitted(emitted: dict[str, dict[str, Any]]) -> None:
    container = emitted["Job"]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][:3] == ["python3", "-I", "/gate"]


@pytest.mark.parametrize("instant", MOMENTS)
def test_it_decides(python: Python, instant: str) -> None:
    done = python("--at", instant)
    assert done.returncode == 0, done.stderr
    line = json.loads(done.stdout.splitlines()[0])
    assert (line["open"], line["rules"]) == MOMENTS[instant]


def test_a_timetable_it_does_not_know_is_closed(python: Python, volume: Path) -> None:
    """What cannot be decided never opens, and exits 1."""
    timetable = volume / "..data/timetable.json"
    whole = timetable.read_text()
    try:
        timetable.write_text(whole.replace('"formatVersion": 2', '"formatVersion": 99'))
        done = python("--at", "2026-11-25T12:00:00+00:00")
    finally:
        timetable.write_text(whole)
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["open"] is False
