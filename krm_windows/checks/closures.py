"""What keeps a policy closed.

Freezes that cut windows, rules that are over, and closures that last too long.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import DAY, Facts, Span, bare, end_of, is_open
from krm_windows.results import Result
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import Segment, timeline

_MINUTE = timedelta(minutes=1)
# So much later at most is the same time of day in one zone than in another (UTC+14, UTC-12).
_ZONES_APART = timedelta(hours=26)
# The field that is to blame, what it does, and what helps.
_WINDOWS = ("windows", "are closed", "add a window")
_FREEZES = ("freezes", "keep it closed", "end one earlier")


def lasting(facts: Facts, longest: timedelta) -> Iterator[Result]:
    """Yield what is over, what is cut, and where the policy is closed for longer than `longest`."""
    held = facts.timetable
    for dated, check in (
        (held.windows, rules.WINDOW_OVER),
        (held.freezes, rules.FREEZE_OVER),
        (held.overrides, rules.OVERRIDE_OVER),
    ):
        # What recurs is never over.
        for rule in (each for each in dated if not isinstance(each.begins, Recurrence)):
            ends = end_of(held, rule)
            # A cluster of the policy may be in a zone where it ends later.
            if ends <= facts.years[0] - _ZONES_APART:
                message = f"ended at {_moment(facts, ends)}: remove it, or extend it"
                yield findings.at(check, rule.name, message, facts.local(ends))
    yield from _cuts(facts)
    yield from _long(facts, longest)


def _cuts(facts: Facts) -> Iterator[Result]:
    """Report for each freeze the first window of which it takes a part only."""
    # A freeze may cut a window in each of its weeks: the first says it.
    held = facts.timetable
    untold = {freeze.name for freeze in held.freezes}
    # Windows alone: where they would be open at the rim of what is closed, that cuts them.
    windows = bare(held, *held.windows)
    # What opens in spite of a freeze is not cut by it.
    closing = tuple(override for override in held.overrides if override.state == "Closed")
    closed_by = held._replace(overrides=closing)
    # What an override cuts, around a freeze, is not cut by that.
    segments = list(timeline(closed_by, *facts.years, apart=frozenset(untold))) if untold else []
    befores, afters = [None, *segments][:-1], [*segments, None][1:]
    for before, closed, after in zip(befores, segments, afters, strict=True):
        freezes = [name for name in closed.rules if name in untold]
        if not freezes:
            continue
        rims = ((before, closed.begins), (after, closed.ends - _MINUTE))
        kept = [part for part, rim in rims if part and part.open and is_open(windows, rim)]
        if kept:
            untold.difference_update(freezes)
            yield from (_cut(facts, name, closed, kept) for name in freezes)


def _cut(facts: Facts, name: str, closed: Segment, kept: list[Segment]) -> Result:
    windows = dict.fromkeys(chain.from_iterable(part.rules for part in kept))
    parts = [f"from {_moment(facts, part.begins)} to {_moment(facts, part.ends)}" for part in kept]
    message = (
        f"cuts {', '.join(windows)}: the rest stays open, {' and '.join(parts)}; if none of the "
        "window should be open, start the freeze before it and end the freeze after it"
    )
    return findings.at(rules.FREEZE_CUTS, name, message, facts.local(closed.begins))


def _moment(facts: Facts, at: datetime) -> str:
    return findings.moment(facts.local(at))


def _long(facts: Facts, longest: timedelta) -> Iterator[Result]:
    """Report the longest closure, if it is too long."""
    # Only an override opens such a policy, which says so (`outside-windows`).
    if not facts.timetable.windows and facts.timetable.outside_windows == "Closed":
        return
    closures = list(facts.closures(longest))
    if not closures:
        return
    begins, ends = max(closures, key=_length)
    # It may go on after the audited years, so its end is not known.
    until = "on" if ends == facts.years[1] else f"to {_moment(facts, ends)}"
    others = f"; this is one of {len(closures)} such periods" if len(closures) > 1 else ""
    # Without windows it is open but for its freezes.
    path, verb, fix = _WINDOWS if facts.timetable.windows else _FREEZES
    message = (
        f"{verb} from {_moment(facts, begins)} {until}, {(ends - begins) // DAY} days in a row, "
        f"more than {longest // DAY}{others}: {fix}, or raise --max-closed if this is intended"
    )
    yield findings.at(rules.CLOSED_LONG, path, message, facts.local(begins))


def _length(span: Span) -> timedelta:
    begins, ends = span
    return ends - begins
