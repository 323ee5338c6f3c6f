"""`render` that is killed: every file is the old or the new one, and the next run finishes."""

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls import program
from fleets import POLICY, contents

CLUSTERS = 40
KILLS = 12
# Loaded first, so that what is killed is the rendering.
RENDER = """
import sys
from krm_windows.cli import main, render
print("ready", flush=True)
sys.stdin.readline()
sys.exit(main(sys.argv[1:]))
"""


def policy(closes: str, reason: str) -> str:
    clusters = "".join(f"    plant-{n:02}: {{timeZone: Europe/Berlin}}\n" for n in range(CLUSTERS))
    head = re.sub(r"  clusters:\n(?:    .*\n)+", "  clusters:\n", POLICY)
    return head.replace("17:00", closes).replace("Year-end change freeze", reason) + clusters


def call(folder: Path) -> list[str]:
    policy, tree = folder / "policy.yaml", folder / "tree"
    return ["render", str(policy), "--all-clusters", "--output-dir", str(tree)]


@contextmanager
def rendering(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", RENDER, *call(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        child.stdin.write(b"\n")
        child.stdin.flush()
        yield child


@pytest.mark.slow  # a rendering of its own for each moment
def test_killed_at_any_point(tmp_path: Path) -> None:
    source, whole = tmp_path / "old", tmp_path / "new"
    source.mkdir()
    (source / "policy.yaml").write_text(policy("17:00", "Year-end"))
    assert program("", *call(source)).code == 0
    # Every cluster changes, and grows by some pages.
    (source / "policy.yaml").write_text(policy("18:30", "Year-end" + " and so on" * 1000))
    shutil.copytree(source, whole)
    with rendering(whole) as child:
        began = time.monotonic()
        assert child.wait() == 0
        span = time.monotonic() - began
    old, new = contents(source / "tree"), contents(whole / "tree")
    chance, halfway = random.Random(7), 0  # noqa: S311 - moments, not secrets
    for number in range(KILLS):
        folder = shutil.copytree(source, tmp_path / str(number))
        with rendering(folder) as child:
            time.sleep(chance.uniform(0, span))
            child.kill()
        found = contents(folder / "tree")
        files = {path: text for path, text in found.items() if not path.endswith(".krm-windows")}
        for path, text in files.items():
            assert text in (old.get(path), new.get(path)), path
        assert files.keys() >= old.keys() & new.keys()
        halfway += files not in (old, new)
        assert program("", *call(folder)).code == 0
        assert contents(folder / "tree") == new
        shutil.rmtree(folder)
    assert halfway > 1, "the kills came before or after the writing"
