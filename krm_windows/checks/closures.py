"""What keeps a policy closed: freezes that cut windows, rules that are over, and closures that last too long."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.facts import DAY, Facts, bare, is_open
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Kind, Rule
from krm_windows.gate.wallclock import utc
from krm_windows.results import Result
from krm_windows.schedule.timeline import Segment, timeline

_MINUTE = timedelta(minutes=1)
_EVER = datetime.max.replace(tzinfo=UTC)
_WINDOWS = ("windows", "are closed", "add a window")
_FREEZES = ("freezes", "keep it closed", "end one earlier")
_OVER = {
    Kind.WINDOW: rules.WINDOW_OVER,
    Kind.FREEZE: rules.FREEZE_OVER,
    Kind.OVERRIDE: rules.OVERRIDE_OVER,
}


def check(facts: Facts, longest: timedelta) -> Iterator[Result]:
    """Yield what is over, what is cut, and where the policy is closed for longer than `longest`."""
    held = facts.timetable
    for rule in (*held.windows, *held.freezes, *held.overrides):
        yield from _over(facts, rule)
    yield from _cuts(facts)
    yield from _long(facts, longest)


def _over(facts: Facts, rule: Rule) -> Iterator[Result]:
    """Report what is dated and has ended before the audited years."""
    if isinstance(rule.begins, Recurrence):
        return
    ends = _end(facts, rule)
    if ends <= facts.years.begins:
        check = _OVER[rule.kind]
        when = facts.local(ends)
        yield findings.at(
            check, rule.name, f"is over since {findings.moment(when)}: remove it, or renew it", when
        )


def _end(facts: Facts, rule: Rule) -> datetime:
    """Return the instant at which something dated ends."""
    if isinstance(rule.ends, datetime) or not isinstance(rule.begins, datetime):
        return utc(rule.ends, facts.zone) if isinstance(rule.ends, datetime) else _EVER
    return next(timeline(bare(facts.timetable, rule), utc(rule.begins, facts.zone), _EVER)).ends


def _cuts(facts: Facts) -> Iterator[Result]:
    """Report for each freeze the first window of which it takes a part only."""
    windows = bare(facts.timetable, *facts.timetable.windows)
    paths = {freeze.name for freeze in facts.timetable.freezes}
    told: set[str] = set()
    for before, closed, after in _closures(facts.segments_around(*facts.timetable.freezes)):
        freezes = [name for name in closed.rules if name in paths and name not in told]
        rest = [
            *([before] if freezes and before and is_open(windows, closed.begins) else []),
            *([after] if freezes and after and is_open(windows, closed.ends - _MINUTE) else []),
        ]
        if rest:
            told.update(freezes)
            yield from (_cut(facts, name, closed, rest) for name in freezes)


def _closures(
    segments: Iterable[Segment],
) -> Iterator[tuple[Segment | None, Segment, Segment | None]]:
    """Yield what is closed, with the open segments that it touches."""
    before: Segment | None = None
    for segment, after in pairwise(chain(segments, (None,))):
        if segment and not segment.open:
            yield (
                before if before and before.ends == segment.begins else None,
                segment,
                after if after and after.begins == segment.ends else None,
            )
        before = segment


def _cut(facts: Facts, name: str, closed: Segment, kept: list[Segment]) -> Result:
    windows = ", ".join(dict.fromkeys(rule for segment in kept for rule in segment.rules))
    rest = " and ".join(
        f"from {findings.moment(facts.local(part.begins))} to {findings.moment(facts.local(part.ends))}"
        for part in kept
    )
    message = (
        f"cuts {windows}: the rest stays open, {rest}; let the freeze begin before the window and end after it, if "
        "nothing of it is to be open"
    )
    return findings.at(rules.FREEZE_CUTS, name, message, facts.local(closed.begins))


def _long(facts: Facts, longest: timedelta) -> Iterator[Result]:
    """Report the longest closure, if it is too long."""
    closures = list(facts.closures(longest))
    if not closures:
        return
    worst = max(closures, key=lambda span: span.length)
    begins, ends = facts.local(worst.begins), facts.local(worst.ends)
    until = "on" if worst.ends == facts.years.ends else f"to {findings.moment(ends)}"
    others = f"; it is one of {len(closures)} such times" if len(closures) > 1 else ""
    path, verb, fix = _WINDOWS if facts.timetable.windows else _FREEZES
    message = (
        f"{verb} from {findings.moment(begins)} {until}, {worst.length // DAY} days in a row, more than "
        f"{longest // DAY}{others}: {fix}, or raise --max-closed if this is meant"
    )
    yield findings.at(rules.CLOSED_LONG, path, message, begins)
