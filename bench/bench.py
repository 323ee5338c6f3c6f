"""`make bench`: every measurement, or those named: `make bench BENCH=calendars`.

Each is taken in a process of its own that imports no other: the peak memory of a program counts
what the process was that started it. Where one fails, as it lacks a tool, the others follow.
"""

import argparse
import subprocess
import sys
from importlib import import_module
from pathlib import Path

MEASUREMENTS = (
    "function",
    "calendars",
    "tables",
    "fleet",
    "gate",
    "missed_runs",
    "repositories",
    "migrations",
    "service",
)


def main() -> int:
    """Take the measurements one after the other; 1 if any could not be taken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    named = f"some of {', '.join(MEASUREMENTS)}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=named)
    names = parser.parse_args().names or MEASUREMENTS
    unknown = ", ".join(name for name in names if name not in MEASUREMENTS)
    if unknown:
        parser.error(f"there is no measurement {unknown}: write {named}")
    if len(names) == 1:
        print(f"{names[0]}:")
        import_module(names[0]).run()
        print()
        return 0
    failed = 0
    for name in names:
        done = subprocess.run([sys.executable, Path(__file__), name], check=False)
        failed = failed or done.returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
