"""What the quick tests run through, room by room: no less than it was (`make coverage`).

Lines and branches are counted. What only programs that a test starts run through does not count.
Where a room has more than its floor, raise the floor.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# In percent, rounded down: properties draw other examples each time.
FLOORS: dict[str, float] = {
    ".": 98,
    "apply": 98,
    "checks": 96,
    "classes": 96,
    "cli": 94,
    "edit": 96,
    "emit": 98,
    "escape": 100,
    "fleet": 96,
    "flux": 95,
    "forge": 92,
    "function": 92,
    "gate": 99,
    "history": 95,
    "init": 91,
    "krm": 97,
    "migrate": 94,
    "patterns": 97,
    "pending": 94,
    "plan": 99,
    "policy": 99,
    "preview": 95,
    "render": 96,
    "schedule": 98,
    "service": 90,
    "status": 96,
    "system": 90,
}


@dataclass
class Room:
    """What is counted of a room: lines and branches, and what no test reaches."""

    counted: Counter[str] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)

    def add(self, path: str, found: dict[str, Any]) -> None:
        """Count a file, as coverage's JSON report describes it."""
        summary = found["summary"]
        self.counted["all"] += summary["num_statements"] + summary["num_branches"]
        self.counted["reached"] += summary["covered_lines"] + summary["covered_branches"]
        lines = [f"{path}:{line}" for line in found["missing_lines"]]
        branches = [f"{path}:{start} to {end}" for start, end in found["missing_branches"]]
        self.missed += lines + branches

    @property
    def percent(self) -> float:
        """How much is reached, rounded down to a tenth."""
        return 1000 * self.counted["reached"] // max(self.counted["all"], 1) / 10


def rooms(files: dict[str, Any]) -> dict[str, Room]:
    """Sum up the files of each room; those beside the rooms are one, `.`."""
    found: dict[str, Room] = {}
    for path, figures in sorted(files.items()):
        folder = Path(path).relative_to("krm_windows").parent
        name = folder.parts[0] if folder.parts else "."
        found.setdefault(name, Room()).add(path, figures)
    return found


def problems(found: dict[str, Room]) -> Iterator[str]:
    """Yield a sentence for each room below its floor, and for each that is missing on one side."""
    for name in sorted(found.keys() ^ FLOORS.keys()):
        yield f"{name}: a room that was not measured, or has no floor in .ci/covered.py"
    for name in sorted(found.keys() & FLOORS.keys()):
        room = found[name]
        if room.percent < FLOORS[name]:
            yield f"{name}: {room.percent} %, at least {FLOORS[name]}; no test reaches"
            yield from (f"  {each}" for each in room.missed)


def main() -> int:
    """Print a line for each room, and what is wrong; exit 1 where something is."""
    # Here, so that the tests of this file need no coverage.
    import coverage  # noqa: PLC0415

    measured = coverage.Coverage(config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        measured.json_report(outfile=str(report))
        found = rooms(json.loads(report.read_text())["files"])
    for name, room in found.items():
        print(f"{room.percent:5.1f} %  {name}  ({len(room.missed)} lines and branches missed)")
    wrong = list(problems(found))
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
