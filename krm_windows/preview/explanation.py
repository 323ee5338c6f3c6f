"""A policy in plain words.

A sentence for each rule, every moment as it is resolved, and what wins over what.
"""

from collections.abc import Iterator
from datetime import UTC, time, tzinfo
from itertools import chain, product

from krm_windows.policy.model import WindowPolicy
from krm_windows.policy.moments import Value
from krm_windows.policy.phrases import days
from krm_windows.preview import templating
from krm_windows.preview.calendar import gated_by, named
from krm_windows.preview.clock import shown, stamp
from krm_windows.schedule import wallclock
from krm_windows.schedule.recurrence import EVERY_HOUR, EVERY_MINUTE, Recurrence
from krm_windows.schedule.timetable import Timetable

_FEW = 6  # so many times a day are listed


def render(policy: WindowPolicy, timetable: Timetable) -> str:
    """Return the page; every line ends in a newline."""
    return templating.text(
        "explanation.txt",
        spec=policy.spec,
        timetable=timetable,
        name=named(timetable),
        gated=gated_by(timetable),
        order=order(timetable),
        words=_words,
    )


def _words(value: Value, zone: tzinfo) -> str:
    match value:
        case Recurrence():
            return recurring(value)
        case time():
            return f"the first {value:%H:%M} after its own beginning"
    at = wallclock.utc(value, zone)
    # `Mon 2026-12-14 08:00, the instant 2026-12-14T07:00:00Z`.
    return f"{shown(at, zone)}, the instant {stamp(at, UTC).replace('+00:00', 'Z')}"


def recurring(value: Recurrence) -> str:
    """Say times and their days, `08:00; Monday`; or more by their fields as cron has them."""
    times = [f"{hour:02}:{minute:02}" for hour, minute in product(value.hours, value.minutes)]
    if len(times) <= _FEW:
        return f"{', '.join(sorted(times))}; {days(value)}"
    minutes = _field("minute", value.minutes, EVERY_MINUTE)
    return f"{minutes}; {_field('hour', value.hours, EVERY_HOUR)}; {days(value)}"


def _field(name: str, numbers: frozenset[int], every: frozenset[int]) -> str:
    if numbers == every:
        return f"every {name}"
    return f"{name} {', '.join(map(str, sorted(numbers)))}"


def order(timetable: Timetable, *others: Timetable) -> Iterator[str]:
    """Yield what decides, the strongest first; what no timetable has is left out."""
    every = ((*each.overrides, *each.freezes, *each.windows) for each in (timetable, *others))
    kinds = {rule.state or rule.kind for rule in chain.from_iterable(every)}
    # `spec.state` holds until somebody changes it back.
    if timetable.state != "Scheduled":
        yield f"state: {timetable.state}, set by hand, so nothing below has an effect"
    if "Closed" in kinds:
        yield "overrides that close"
    if "Open" in kinds:
        yield "overrides that open"
    if "freezes" in kinds:
        yield "freezes: they close the part of a window that they overlap; the rest stays open"
    if "windows" in kinds:
        yield "windows: open while at least one window is open"
    yield f"otherwise: {timetable.outside_windows.lower()}"
