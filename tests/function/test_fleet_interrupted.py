"""`render` that is killed, or out of space.

Every file is the old or the new one, and the next run finishes.
"""

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

pytestmark = pytest.mark.slow  # a rendering of its own for each moment

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


def policy(closes: str) -> str:
    clusters = "".join(f"    plant-{n:02}: {{timeZone: Europe/Berlin}}\n" for n in range(CLUSTERS))
    head = re.sub(r"  clusters:\n(?:    .*\n)+", "  clusters:\n", POLICY).replace("17:00", closes)
    return (
        head.replace(
            "Year-end change freeze",
            "Year-end change freeze" + " and so on" * (1000 if closes > "18" else 0),
        )
        + clusters
    )


def call(folder: Path) -> list[str]:
    policy, tree = folder / "policy.yaml", folder / "tree"
    return ["render", str(policy), "--all-clusters", "--output-dir", str(tree)]


@pytest.fixture(scope="module")
def states(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dict[str, bytes], dict[str, bytes]]:
    folder, other = tmp_path_factory.mktemp("old"), tmp_path_factory.mktemp("new")
    for place, closes in ((folder, "17:00"), (other, "18:30")):
        (place / "policy.yaml").write_text(policy(closes))
        assert program("", *call(place)).code == 0
    shutil.copy(other / "policy.yaml", folder / "policy.yaml")
    return folder, contents(folder / "tree"), contents(other / "tree")


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


def mixed(found: dict[str, bytes], old: dict[str, bytes], new: dict[str, bytes]) -> bool:
    """Whether some files are new and some are old; fails where one is neither."""
    files = {path: content for path, content in found.items() if not path.endswith(".krm-windows")}
    for path, content in files.items():
        assert content in (old.get(path), new.get(path)), path
    assert files.keys() >= old.keys() & new.keys()
    return files not in (old, new)


def test_killed_at_any_point(
    states: tuple[Path, dict[str, bytes], dict[str, bytes]], tmp_path: Path
) -> None:
    """Nothing is half-written, and the next run leaves nothing of it behind."""
    source, old, new = states
    whole = shutil.copytree(source, tmp_path / "whole")
    with rendering(whole) as child:
        began = time.monotonic()
        assert child.wait() == 0
        span = time.monotonic() - began
    chance, halfway = random.Random(7), 0  # noqa: S311 - moments, not secrets
    assert contents(whole / "tree") == new
    for number in range(KILLS):
        folder = shutil.copytree(source, tmp_path / str(number))
        with rendering(folder) as child:
            time.sleep(chance.uniform(0, span))
            child.kill()
        halfway += mixed(contents(folder / "tree"), old, new)
        assert program("", *call(folder)).code == 0
        assert contents(folder / "tree") == new
        shutil.rmtree(folder)
    assert halfway > 1, "the kills came before or after the writing"
