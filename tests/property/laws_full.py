"""Walk ten years of all zones minute by minute: the evaluator against the oracle.

It does so for policies of every shape. `make laws-full`. Zones whose clocks show the same are
walked once. Each meets `--shapes` of the recurring shapes, one zone after the other taking the next
ones, for all the years; and every dated shape, each at a change of its own, in the year of that
change and in its neighbours. From 2026 on, the triggers in UTC have to meet every edge to the
minute.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from time import monotonic

from changes import Change, Group, groups
from missed_edges import missed_edges
from oracle import EPOCH, MINUTE, minute, states, utc, walk
from shapes import DATED, RECURRING, plan

from krm_windows.plan.model import Plan
from krm_windows.schedule import wallclock, zones
from krm_windows.schedule.timeline import decide, timeline
from krm_windows.schedule.timetable import Timetable

YEARS = range(2022, 2032)
DECISIONS = 5
# From when on schedules meet every edge: what a build of today is for.
FIRST_MET = 2026
CLOCK_STEP = 15


@dataclass
class Tally:
    """What was compared and what differed: minutes, edges, decisions and clock readings."""

    minutes: int = 0
    edges: int = 0
    decisions: int = 0
    readings: int = 0
    differences: tuple[str, ...] = ()

    def add(self, other: "Tally") -> None:
        """Add another tally to this one."""
        self.minutes += other.minutes
        self.edges += other.edges
        self.decisions += other.decisions
        self.readings += other.readings
        self.differences += other.differences

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.minutes:,} minutes, {self.edges:,} edges, {self.decisions:,} decisions, "
            f"{self.readings:,} readings of the clock: {len(self.differences)} differences"
        )


def main() -> int:
    """Walk all groups, say how far it is, and sum up; 1 if anything differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--shapes", type=int, default=4, help="recurring shapes for each zone (default: 4)"
    )
    parser.add_argument(
        "--jobs", type=int, default=None, help="processes (default: one for each processor)"
    )
    arguments = parser.parse_args()
    every, total, start = groups(), Tally(), monotonic()
    tasks = [
        (group, number * arguments.shapes, arguments.shapes) for number, group in enumerate(every)
    ]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for number, (group, tally) in enumerate(zip(every, pool.map(_walk, tasks), strict=True), 1):
            total.add(tally)
            said = f"{group.zones[0]} ({len(group.zones)} zones, {len(group.changes)} changes)"
            _say(f"[{number:3}/{len(every)}] {said}: {tally}", *tally.differences)
    names = sum(len(group.zones) for group in every)
    _say(
        f"{names} zones in {len(every)} groups, {YEARS[0]} to {YEARS[-1]}: {total}, "
        f"{monotonic() - start:.0f} s"
    )
    return 1 if total.differences else 0


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _walk(task: tuple[Group, int, int]) -> Tally:
    """Walk the years of one group."""
    group, first, count = task
    tally = _clock(group.zones[0])
    for shape, change in _policies(group, first, count):
        policy = plan(shape, change)
        for year in YEARS:
            if shape in RECURRING or abs(year - change.utc.year) <= 1:
                tally.add(_compare(shape, policy.timetable, year))
                tally.add(_met(shape, policy, year))
    return tally


def _policies(group: Group, first: int, count: int) -> Iterator[tuple[str, Change]]:
    """Choose the next of the recurring shapes, and all dated ones, each at a change of its own."""
    recurring = [*RECURRING] * 2
    dated = [change for change in group.changes if change.utc.year in YEARS]
    yield from (
        (shape, Change(group.zones[0], 0, 0, 0))
        for shape in recurring[first % len(RECURRING) :][:count]
    )
    yield from ((shape, dated[number % len(dated)]) for number, shape in enumerate(DATED) if dated)


def _span(year: int) -> tuple[int, int]:
    """Give the first UTC minute of a year, and the number of its minutes."""
    first, after = (minute(datetime(each, 1, 1)) for each in (year, year + 1))
    return first, after - first


def _compare(shape: str, timetable: Timetable, year: int) -> Tally:
    start, count = _span(year)
    want = states(timetable, start, count)
    segments = list(timeline(timetable, utc(start), utc(start + count)))
    got = b"".join(
        bytes([each.open]) * (minute(each.ends) - minute(each.begins)) for each in segments
    )
    seed = f"{shape} {timetable.time_zone} {year}"
    picked = random.Random(seed).sample(range(count), DECISIONS)  # noqa: S311 - no secret
    wrong = [at for at in picked if decide(timetable, utc(start + at)).open != want[at]]
    wrong += (
        [next((at for at in range(count) if got[at : at + 1] != want[at : at + 1]), count)]
        if got != want
        else []
    )
    said = tuple(f"  {shape}, {timetable.time_zone}: differs at {utc(start + at)}" for at in wrong)
    return Tally(
        count,
        sum(one.ends == other.begins for one, other in pairwise(segments)),
        len(picked),
        0,
        said,
    )


def _met(shape: str, policy: Plan, year: int) -> Tally:
    """Replay the triggers in UTC: each edge of a year that they are made for is reached."""
    start, count = _span(year)
    if year < FIRST_MET:
        return Tally()
    late = missed_edges(policy, utc(start), utc(start + count))
    return Tally(
        differences=tuple(
            f"  {shape}, {policy.timetable.time_zone}: nothing runs at {edge}" for edge in late
        )
    )


def _clock(name: str) -> Tally:
    """Read the monotone wall clock of a zone every few minutes."""
    tz, tally = zones.zone(name), Tally()
    for year in YEARS:
        start, count = _span(year)
        shown = walk(name, start, count).shown
        readings = range(0, count, CLOCK_STEP)
        wrong = [
            at
            for at in readings
            if wallclock.wall(utc(start + at), tz) != EPOCH + shown[at] * MINUTE
        ]
        tally.add(
            Tally(
                readings=len(readings),
                differences=tuple(f"  {name}: clock at {utc(start + at)}" for at in wrong),
            )
        )
    return tally


if __name__ == "__main__":
    sys.exit(main())
