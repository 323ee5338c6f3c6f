"""The table of days: for every fixture, and for the worst policies that the schema accepts.

Measured is the processor time of working out all the days that a release covers, and the size of
what is shipped of it.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from time import process_time

from measure import ROOT, Aim

from krm_windows import inventory
from krm_windows.function.window_policy import load_policy
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy, kinds
from krm_windows.plan.timetable import COVERED
from krm_windows.schedule import table
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

AIM = Aim("milliseconds of processor, the worst fixture", 100)
MOST = 1_000
ZONE = "Europe/Berlin"
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
TWO = frozenset(range(0, 60, 2))
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
ONCE = Recurrence(frozenset({0}), frozenset({2}), days=frozenset({29}), months=frozenset({2}))


def fixtures() -> Iterator[tuple[str, Timetable]]:
    """Yield each fixture that is a valid policy: its name, and the policy as it is compiled."""
    for path in sorted((ROOT / "tests/fixtures").glob("*/config.yaml")):
        config = KubeObject.parse(path.read_bytes())
        if config.kind == "WindowPolicy":
            policy, cluster, _ = load_policy(config, None)
            if policy is not None:
                seen = inventory.take([], kinds(policy))
                yield path.parent.name, compile_policy(policy, cluster, seen)[0].timetable


def policies() -> Iterator[tuple[str, Timetable]]:
    """Yield the worst that the schema accepts: a name and the compiled policy."""
    freeze = Rule(Kind.FREEZE, "year", NEW_YEAR - 200 * DAY, NEW_YEAR + 900 * DAY, "r")
    ten = Recurrence(frozenset(range(0, 60, 10)))
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
    yield "1,000 dated windows that touch", _policy(*_dated(Kind.WINDOW, 1000))
    wall = NEW_YEAR.replace(tzinfo=None)
    yield (
        "1,000 dated of each kind, on the wall clock",
        _policy(
            *_dated(Kind.WINDOW, 1000, wall),
            freezes=_dated(Kind.FREEZE, 400, wall + 500 * MINUTE),
            overrides=_dated(Kind.OVERRIDE, 50, wall + 900 * MINUTE),
        ),
    )


def _policy(*windows: Rule, **fields: object) -> Timetable:
    held = Timetable(policy="flux-system/p", time_zone=ZONE, windows=windows)
    return held._replace(**fields)  # type: ignore[arg-type]


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


def measured(timetable: Timetable) -> tuple[float, float]:
    """Return the milliseconds that its table takes, and the KiB of what is shipped of it."""
    began = process_time()
    made = table.make(table.rules_of(timetable), timetable.zone, COVERED)
    taken = 1000 * (process_time() - began)
    return taken, len(json.dumps(table.rows(made))) / 1024


def run() -> None:
    """Measure each policy; judge the worst fixture."""
    worst = 0.0
    for name, timetable in fixtures():
        taken, size = measured(timetable)
        worst = max(worst, taken)
        print(f"{name}: {taken:.0f} ms, {size:.0f} KiB")
    for name, timetable in policies():
        try:
            taken, size = measured(timetable)
        except ValueError as error:
            print(f"{name}: {error}")
        else:
            print(f"{name}: {taken:.0f} ms, {size:.0f} KiB", flush=True)
    AIM.judge(worst)
