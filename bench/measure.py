"""Programs measured side by side in one run: wall time, peak memory, and ratios with an aim.

Wall time is the median of several runs that take turns; memory is the peak of resident memory
(`ru_maxrss`). Only the ratios mean anything beyond the machine that measured them. A missed aim is
said, and fails nothing.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Command: TypeAlias = Sequence[str | Path]

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
OURS = Path(sys.executable).with_name("krm-windows")
IMPORTS: Command = [sys.executable, "-c", "import yaml; from pydantic import BaseModel"]
"""What a program that reads YAML into models loads as a rule."""


@dataclass(frozen=True)
class Run:
    """One run of a program.

    Wall time in seconds, peak memory in MiB, and processor time with that of its children.
    """

    seconds: float
    memory: float
    processor: float


@dataclass(frozen=True)
class Aim:
    """A ratio that should not be exceeded."""

    what: str
    limit: float

    def judge(self, ratio: float) -> None:
        """Print a ratio, the aim, and whether it was met."""
        verdict = "met" if ratio <= self.limit else "MISSED"
        print(f"{self.what} = {ratio:.3f}, aim {self.limit}: {verdict}", flush=True)


ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
"""With the bytecode that an installed package has."""


def write_tree(root: Path, files: Mapping[str, str]) -> None:
    """Write files by their paths below a directory."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def measure(command: Command, stdin: Path = Path(os.devnull)) -> Run:
    """Run a program on a file.

    This process stays small: a child's peak counts what it was before `exec`.
    """
    with stdin.open("rb") as source, tempfile.TemporaryFile() as sink:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=source, stdout=sink, env=ENVIRONMENT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} exited {child.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime)


def compare(programs: Sequence[Command], times: int, stdin: Path = Path(os.devnull)) -> list[Run]:
    """Return the median run of each program; they take turns, so that all meet the same machine."""
    for command in programs:
        measure(command, stdin)  # once to warm the caches, and Python's bytecode
    runs: list[list[Run]] = [[] for _ in programs]
    for _ in range(times):
        for number, command in enumerate(programs):
            runs[number].append(measure(command, stdin))
    return [middle(each) for each in runs]


def middle(runs: Sequence[Run]) -> Run:
    """Return the median of each figure of several runs."""
    return Run(
        seconds=statistics.median(run.seconds for run in runs),
        memory=statistics.median(run.memory for run in runs),
        processor=statistics.median(run.processor for run in runs),
    )
