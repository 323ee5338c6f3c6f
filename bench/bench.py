"""`make bench`: every measurement, or those named: `make bench BENCH=calendars`.

Each is taken in a process of its own that imports no other: the peak memory of a program counts
what the process was that started it.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

MEASUREMENTS = (
    "function",
    "calendars",
    "decisions",
    "fleet",
    "gate",
    "missed_runs",
    "repositories",
    "migrations",
    "service",
)


def main() -> None:
    """Take the measurements one after the other."""
    names = sys.argv[1:] or MEASUREMENTS
    if len(names) == 1:
        print(f"{names[0]}:")
        import_module(names[0]).run()
        print()
        return
    for name in names:
        subprocess.run([sys.executable, Path(__file__), name], check=True)


if __name__ == "__main__":
    main()
