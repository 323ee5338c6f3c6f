"""What keeps a policy closed.

Freezes that cut windows, rules that are over, and closures that last too long.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import timedelta
from itertools import chain, pairwise
from zoneinfo import ZoneInfo

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import DAY, Facts, bare, end_of, is_open
from krm_windows.results import Result
from krm_windows.rules import Rule as Check
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import Segment
from krm_windows.schedule.timetable import Rule

_MINUTE = timedelta(minutes=1)
# The field that is to blame, what it does, and what helps.
_WINDOWS = ("windows", "are closed", "add a window")
_FREEZES = ("freezes", "keep it closed", "end one earlier")


def lasting(
    facts: Facts, longest: timedelta, elsewhere: Collection[ZoneInfo] = ()
) -> Iterator[Result]:
    """Yield what is over, what is cut, and where the policy is closed for longer than `longest`.

    What is over is so on the clocks of zones `elsewhere`, too.
    """
    held = facts.timetable
    yield from _over(facts, held.windows, rules.WINDOW_OVER, elsewhere)
    yield from _over(facts, held.freezes, rules.FREEZE_OVER, elsewhere)
    yield from _over(facts, held.overrides, rules.OVERRIDE_OVER, elsewhere)
    yield from _cuts(facts)
    yield from _long(facts, longest)


def _over(
    facts: Facts,
    dated: Iterable[Rule],
    check: Check,
    elsewhere: Collection[ZoneInfo],
) -> Iterator[Result]:
    """Report what is dated and has ended before the audited years."""
    others = [facts.timetable._replace(time_zone=zone.key) for zone in elsewhere]
    for rule in dated:
        # What recurs is never over.
        if isinstance(rule.begins, Recurrence):
            continue
        ends = end_of(facts.timetable, rule)
        last = max(end_of(each, rule) for each in (facts.timetable, *others))
        if last <= facts.years.begins:
            when = facts.local(ends)
            message = f"ended at {findings.moment(when)}: remove it, or extend it"
            yield findings.at(check, rule.name, message, when)


def _cuts(facts: Facts) -> Iterator[Result]:
    """Report for each freeze the first window of which it takes a part only."""
    # A freeze may cut a window in each of its weeks: the first says it.
    untold = {freeze.name for freeze in facts.timetable.freezes}
    if not untold:
        return
    for before, closed, after in _closures(facts.segments):
        freezes = untold.intersection(closed.rules)
        if not freezes:
            continue
        kept = list(_kept(facts, before, closed, after))
        if not kept:
            continue
        untold -= freezes
        # In the order in which they decide.
        for name in closed.rules:
            if name in freezes:
                yield _cut(facts, name, closed, kept)
        if not untold:
            return


def _kept(
    facts: Facts,
    before: Segment | None,
    closed: Segment,
    after: Segment | None,
) -> Iterator[Segment]:
    """Yield what is left open of the windows that a closure cuts."""
    windows = bare(facts.timetable, *facts.timetable.windows)
    # Windows alone: where they would be open at the rim of the closure, it cuts them.
    if before and is_open(windows, closed.begins):
        yield before
    if after and is_open(windows, closed.ends - _MINUTE):
        yield after


def _closures(
    segments: Iterable[Segment],
) -> Iterator[tuple[Segment | None, Segment, Segment | None]]:
    """Yield what is closed, with the open segments that it touches."""
    before: Segment | None = None
    for segment, after in pairwise(chain(segments, (None,))):
        if segment and not segment.open:
            yield before, segment, after
        before = segment


def _cut(
    facts: Facts,
    name: str,
    closed: Segment,
    kept: list[Segment],
) -> Result:
    windows: dict[str, None] = {}
    parts: list[str] = []
    for part in kept:
        windows.update(dict.fromkeys(part.rules))
        begins = facts.local(part.begins)
        ends = facts.local(part.ends)
        parts.append(f"from {findings.moment(begins)} to {findings.moment(ends)}")
    message = (
        f"cuts {', '.join(windows)}: the rest stays open, {' and '.join(parts)}; if none of the "
        "window should be open, start the freeze before it and end the freeze after it"
    )
    return findings.at(rules.FREEZE_CUTS, name, message, facts.local(closed.begins))


def _long(facts: Facts, longest: timedelta) -> Iterator[Result]:
    """Report the longest closure, if it is too long."""
    # Only an override opens such a policy, which says so (`outside-windows`).
    if not facts.timetable.windows and facts.timetable.outside_windows == "Closed":
        return
    closures = list(facts.closures(longest))
    if not closures:
        return
    worst = max(closures, key=lambda span: span.length)
    begins = facts.local(worst.begins)
    ends = facts.local(worst.ends)
    until = f"to {findings.moment(ends)}"
    # It may go on after the audited years, so its end is not known.
    if worst.ends == facts.years.ends:
        until = "on"
    others = ""
    if len(closures) > 1:
        others = f"; this is one of {len(closures)} such periods"
    # Without windows it is open but for its freezes.
    path, verb, fix = _FREEZES
    if facts.timetable.windows:
        path, verb, fix = _WINDOWS
    message = (
        f"{verb} from {findings.moment(begins)} {until}, {worst.length // DAY} days in a row, "
        f"more than {longest // DAY}{others}: {fix}, or raise --max-closed if this is intended"
    )
    yield findings.at(rules.CLOSED_LONG, path, message, begins)
