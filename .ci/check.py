"""`make check`: run every check, say which passed, and show what those that did not have to say."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from catalogue import files as catalogue
from checks import (
    decisions,
    guarantees,
    hints,
    ids,
    pins,
    requirements,
    simplicity,
    weight,
    widths,
    words,
)
from supply import licences

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent

SCRIPTS = [
    ".ci/check.py",
    ".ci/demo.py",
    ".ci/mutants.py",
    ".ci/supply/sbom.py",
    ".ci/tool_version.py",
    ".ci/versions.py",
    "bench/bench.py",
    "bench/confined_builds.py",
]
MYPY_ALONE = ["--no-error-summary", "--config-file=", "--cache-dir=.cache/mypy-scripts", "--strict"]
PROGRAMS: dict[str, list[str | Path]] = {
    "lint": [BIN / "ruff", "check", "--quiet", "."],
    "format": [BIN / "ruff", "format", "--quiet", "--check", "."],
    "types": [BIN / "mypy", "--no-error-summary"],
    "types of scripts": [BIN / "mypy", *MYPY_ALONE, *SCRIPTS],
    "layers": [BIN / "lint-imports", "--no-cache"],
    "page of commands": [sys.executable, "tests/commands_page.py", "--check"],
}
# The check and what mends it: what these programs print names the place, and not the command.
MENDED_BY = {"lint": "make format mends some of it", "format": "make format writes it so"}
RULES: dict[str, Callable[[], Iterator[str]]] = {
    "what must hold": ids.problems,
    "nested comprehensions": simplicity.problems,
    "weight of rooms": weight.problems,
    "words": words.problems,
    "hints": hints.problems,
    "widths of pages": widths.problems,
    "pins": pins.problems,
    "requirements": requirements.problems,
    "licences": licences.problems,
    "decisions": decisions.problems,
    "guarantees": guarantees.problems,
    "generated files": catalogue.problems,
}


def program(command: list[str | Path]) -> str | None:
    """Run a program in the repository; return what it printed if it failed, else None."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).rstrip() if done.returncode != 0 else None


def answers() -> Iterator[tuple[str, str | None]]:
    """Yield each check's name and what is wrong, None where nothing is."""
    for name, command in PROGRAMS.items():
        trouble = program(command)
        if trouble is not None and name in MENDED_BY:
            trouble = f"{trouble}\n{MENDED_BY[name]}"
        yield name, trouble
    for name, problems in RULES.items():
        yield name, "\n".join(problems()) or None


def main() -> int:
    """Print a line for each check; exit 1 if any failed."""
    failed = 0
    for name, trouble in answers():
        failed += trouble is not None
        print(f"ok      {name}" if trouble is None else f"FAILED  {name}\n{trouble}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
