"""Building wheel and source archive as a packager does, in surroundings of a test's choice."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EPOCH = "1790000000"


@dataclass(frozen=True)
class Release:
    sources: Path
    wheel: Path
    sdist: Path


def copy(paths: Iterable[str], sources: Path, mode: int) -> None:
    """Copy files of the work tree, each with a mode and a time of its own."""
    for number, path in enumerate(paths):
        target = sources / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
        target.chmod(mode)
        os.utime(target, (number * 86400, number * 86400))


def build(
    sources: Path, output: Path, *options: str, surroundings: Mapping[str, str], umask: int = 0o022
) -> None:
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        *options,
        "--outdir",
        output,
        sources,
    ]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **surroundings}
    done = subprocess.run(
        command, env=environment, umask=umask, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def release(sources: Path, surroundings: Mapping[str, str], umask: int) -> Release:
    output = sources.parent / f"{sources.name} built"
    build(sources, output, surroundings=surroundings, umask=umask)
    [wheel], [sdist] = output.glob("*.whl"), output.glob("*.tar.gz")
    return Release(sources, wheel, sdist)
