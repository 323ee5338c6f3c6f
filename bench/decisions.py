"""A decision of the gate, for usual policies and for the worst that the schema accepts.

Measured are a usual policy, a long freeze, and those worst ones. Each in a process of its own that
imports what the gate's Pod imports: the processor time of the first decision, its preparation
included, of the next one a minute later, and of reading the timetable; and the most memory that was
held.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import ROOT, Aim

from krm_windows.plan import zone_rules
from krm_windows.plan.timetable import dump
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_HOUR, EVERY_MONTH, Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

AIMS = (Aim("milliseconds of processor", 50), Aim("peak MiB", 40))
MOST = 1_000
ZONE = "Europe/Berlin"
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
TWO = frozenset(range(0, 60, 2))
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
WEEK = Rule(
    Kind.WINDOW,
    "week",
    Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({1})),
    Recurrence(frozenset({0}), frozenset({17}), weekdays=frozenset({4})),
)
ONCE = Recurrence(frozenset({0}), frozenset({2}), days=frozenset({29}), months=frozenset({2}))
PROGRAM = """
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from time import process_time
from krm_windows.schedule.decide import Decider
from krm_windows.gate.timetable import load
text = Path(sys.argv[1]).read_text()
at = datetime(2026, 3, 3, 10, 17, tzinfo=timezone.utc)
times = [process_time()]
timetable = load(text)
times.append(process_time())
decider = Decider(timetable)
decider.decide(at)
times.append(process_time())
decider.decide(at + timedelta(minutes=1))
times.append(process_time())
status = Path("/proc/self/status").read_text()
# ru_maxrss would count the parent, from before exec.
held = int(status.split("VmHWM:")[1].split()[0])
print(*(1000 * (b - a) for a, b in zip(times, times[1:])), held / 1024)
"""


def policies() -> Iterator[tuple[str, Timetable]]:
    """Yield what is decided for: a name and the compiled policy."""
    freeze = Rule(Kind.FREEZE, "year", NEW_YEAR - 200 * DAY, NEW_YEAR + 900 * DAY, "r")
    ten = Recurrence(frozenset(range(0, 60, 10)))
    yield "a usual policy", _policy(WEEK)
    yield (
        "years of a freeze over ten-minute windows",
        _policy(Rule(Kind.WINDOW, "w", ten, 5 * MINUTE), freezes=(freeze,)),
    )
    often = Rule(Kind.WINDOW, "w", Recurrence(TWO), 2 * MINUTE)
    yield "state: Open, a window every two minutes", _policy(often, state="Open")
    yield "a window every two minutes, so always open", _policy(often)
    short = Rule(Kind.WINDOW, "w", Recurrence(TWO), MINUTE)
    yield "the same, none longer than closesEarly", _policy(short, closes_early=30 * MINUTE)
    yield "29 February", _policy(Rule(Kind.WINDOW, "w", ONCE, MINUTE))
    yield "closesEarly: 366d, always open", _policy(often, closes_early=366 * DAY)
    yield "1,000 windows every two minutes, on days of their own", _policy(*_often())
    yield "1,000 dated windows that touch", _policy(*_dated(Kind.WINDOW, 1000))
    yield "1,000 windows with cron schedules for both ends", _policy(*_ending())
    yield "always open, by 960 windows on different days each", _policy(*_halves(lasting=True))
    yield "the same, with cron schedules for both ends", _policy(*_halves(lasting=False))
    yield "1,000 windows from one random cron schedule to another", _policy(*_random())
    yield (
        "the same, asked a year ahead",
        _policy(*_random(), closes_early=366 * DAY),
    )
    wall = NEW_YEAR.replace(tzinfo=None)
    yield (
        "1,000 dated of each kind, on the wall clock",
        _policy(
            *_dated(Kind.WINDOW, 1000, wall),
            freezes=_dated(Kind.FREEZE, 400, wall + 500 * MINUTE),
            overrides=_dated(Kind.OVERRIDE, 50, wall + 900 * MINUTE),
        ),
    )
    yield (
        "1,000 of each kind",
        _policy(*_often(), freezes=_freezes(), overrides=_dated(Kind.OVERRIDE, 5)),
    )


def _policy(*windows: Rule, **fields: object) -> Timetable:
    held = Timetable(
        policy="flux-system/p", time_zone=ZONE, zone_rules=zone_rules.make(ZONE), windows=windows
    )
    return held._replace(**fields)  # type: ignore[arg-type]


def _often() -> tuple[Rule, ...]:
    return tuple(
        Rule(Kind.WINDOW, f"w{n}", _days(n, TWO, EVERY_HOUR), (1 + n) * MINUTE) for n in range(MOST)
    )


def _ending() -> tuple[Rule, ...]:
    return tuple(
        Rule(Kind.WINDOW, f"w{n}", _days(n, {n % 60}, {n // 60}), _days(n + 7, {n % 59}, {5}))
        for n in range(MOST)
    )


def _halves(*, lasting: bool) -> tuple[Rule, ...]:
    """Open three minutes of half the days with each window, of the other half with the next."""
    found = []
    for number in range(480):
        begins, ends = (
            _minute(number * 3),
            3 * MINUTE if lasting else Recurrence(*_minute((number * 3 + 3) % 1440)),
        )
        chosen = random.Random(number)  # noqa: S311 - nobody guesses
        half = frozenset(chosen.sample(sorted(EVERY_DAY), 15))
        found.append(Rule(Kind.WINDOW, f"a{number}", Recurrence(*begins, days=half), ends))
        found.append(
            Rule(Kind.WINDOW, f"b{number}", Recurrence(*begins, days=EVERY_DAY - half), ends)
        )
    return tuple(found)


def _minute(number: int) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset({number % 60}), frozenset({number // 60})


def _freezes() -> tuple[Rule, ...]:
    return tuple(
        Rule(Kind.FREEZE, f"f{n}", _days(n, {n % 60}, {n // 60}), 400 * MINUTE, "r")
        for n in range(MOST)
    )


def _random() -> tuple[Rule, ...]:
    """Open from one schedule to another, of random days and times each."""
    return tuple(
        Rule(Kind.WINDOW, f"w{n}", _any(random.Random(n)), _any(random.Random(-n)))  # noqa: S311
        for n in range(1, MOST + 1)
    )


def _any(chosen: random.Random) -> Recurrence:
    """Choose half of the minutes, hours, days and months, and three weekdays."""
    return Recurrence(
        frozenset(chosen.sample(range(60), 30)),
        frozenset(chosen.sample(range(24), 12)),
        days=frozenset(chosen.sample(range(1, 32), 15)),
        months=frozenset(chosen.sample(range(1, 13), 6)),
        weekdays=frozenset(chosen.sample(range(7), 3)),
        either=True,
    )


def _dated(kind: Kind, minutes: int, first: datetime = NEW_YEAR) -> tuple[Rule, ...]:
    begins = (first + number * 1000 * MINUTE for number in range(MOST))
    return tuple(
        Rule(
            kind,
            f"d{number}",
            begin,
            begin + minutes * MINUTE,
            "r",
            "Closed" if kind is Kind.OVERRIDE else None,
        )
        for number, begin in enumerate(begins)
    )


def _days(
    number: int, minutes: set[int] | frozenset[int], hours: set[int] | frozenset[int]
) -> Recurrence:
    """Recur on days that depend on a number, and not in every month.

    They are days of the month from one on, or weekdays.
    """
    return Recurrence(
        frozenset(minutes),
        frozenset(hours),
        days=EVERY_DAY - {1 + number % 28},
        months=EVERY_MONTH - {1 + number % 12},
        weekdays=frozenset({number % 7}),
        either=True,
    )


def run() -> None:
    """Measure each policy, and judge the worst figures."""
    worst = [0.0, 0.0]
    for name, timetable in policies():
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(dump(timetable), file)
            file.flush()
            size = Path(file.name).stat().st_size / 1024
            command = [sys.executable, "-c", PROGRAM, file.name]
            said = subprocess.run(
                command, check=True, capture_output=True, text=True, cwd=ROOT
            ).stdout
        load, first, second, memory = map(float, said.split())
        print(
            f"{name}: {first:.1f} ms, the next {second:.1f} ms, {memory:.0f} MiB; "
            f"read in {load:.0f} ms, {size:.0f} KiB"
        )
        worst = [max(worst[0], first), max(worst[1], memory)]
    for aim, figure in zip(AIMS, worst, strict=True):
        aim.judge(figure)
