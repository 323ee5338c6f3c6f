"""How late an edge is seen where a tenth of the runs is missed.

Simulated over two years, for several intervals.
"""

import random
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from krm_windows.plan.triggers import Trigger, Wording, triggers
from krm_windows.schedule.controller import runs
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Kind, Rule, Timetable

LOST, ROUNDS = 0.1, 20
START, UNTIL = datetime(2027, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
INTERVALS = (timedelta(minutes=15), timedelta(hours=1), timedelta(hours=24))
WORKDAYS = frozenset({1, 2, 3, 4, 5})
NIGHT = Rule(
    Kind.WINDOW,
    "night",
    Recurrence(frozenset({0}), frozenset({22}), weekdays=WORKDAYS),
    timedelta(hours=6),
)
NOON = Rule(
    Kind.WINDOW, "noon", Recurrence(frozenset({30}), frozenset({11})), timedelta(minutes=90)
)


def run() -> None:
    """Print the share of edges that are seen more than an interval late.

    Zone data are equal, or other.
    """
    rng = random.Random(1)  # noqa: S311 - no secret
    for interval in INTERVALS:
        for said, same in (
            ("the same zone data", True),
            ("other zone data, so that none in timeZone is right", False),
        ):
            late: list[timedelta] = []
            for zone in ZONES:
                late.extend(_late(zone, interval, rng, same=same))
            share = 100 * sum(each > interval for each in late) / len(late)
            edges = f"{len(late):,} edges"
            print(f"interval {interval}, {said}: {share:.2f} % of {edges} later than the interval")


def _late(zone: str, interval: timedelta, rng: random.Random, *, same: bool) -> Iterator[timedelta]:
    """Yield how late each edge is seen."""
    timetable = Timetable(policy="flux-system/p", time_zone=zone, windows=(NIGHT, NOON))
    edges = [part.begins for part in timeline(timetable, START, UNTIL)][1:]
    fired = sorted(_firings(timetable, interval, same=same))
    for _ in range(ROUNDS):
        kept = [at for at in fired if rng.random() >= LOST]
        for edge in edges:
            if edge <= kept[-1]:
                yield kept[bisect_left(kept, edge)] - edge


def _firings(timetable: Timetable, interval: timedelta, *, same: bool) -> Iterator[datetime]:
    """Yield when the gate is started; where zone data differ, by the triggers in UTC alone."""
    for trigger in triggers(timetable, Wording(), interval):
        if same or trigger.time_zone == "Etc/UTC":
            yield from _fired(trigger)


def _fired(trigger: Trigger) -> list[datetime]:
    return list(takewhile(lambda at: at < UNTIL, runs(trigger.schedule, trigger.time_zone, START)))
