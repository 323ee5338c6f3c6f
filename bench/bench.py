"""`make bench`: every measurement, or those named: `make bench BENCH=calendars`."""

import sys

import calendars
import decisions
import fleet
import function
import gate
import migrations
import missed_runs
import repositories

MEASUREMENTS = {
    "function": function.run,
    "calendars": calendars.run,
    "decisions": decisions.run,
    "fleet": fleet.run,
    "gate": gate.run,
    "missed_runs": missed_runs.run,
    "repositories": repositories.run,
    "migrations": migrations.run,
}


def main() -> None:
    """Take the measurements one after the other."""
    for name in sys.argv[1:] or MEASUREMENTS:
        print(f"{name}:")
        MEASUREMENTS[name]()
        print()


if __name__ == "__main__":
    main()
