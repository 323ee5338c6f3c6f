"""Edges that fall into a clock change: into an hour that is missing, or one that comes twice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.clock_changes import ClockChange
from krm_windows.checks.facts import Facts
from krm_windows.results import Result
from krm_windows.schedule import table, wallclock
from krm_windows.schedule.timetable import Kind, Rule

# What the fields of a rule are called that say when it begins and when it ends.
_FIELDS = {
    Kind.WINDOW: ("opens", "closes"),
    Kind.FREEZE: ("starts", "ends"),
    Kind.OVERRIDE: ("starts", "ends"),
}


@dataclass(frozen=True, slots=True)
class _Hit:
    """An edge, at the field `path` and the wall-clock `moment`, that falls into a change."""

    path: str
    moment: datetime
    change: ClockChange


def shifted(facts: Facts) -> Iterator[Result]:
    """Yield what clock changes do to windows, freezes and overrides."""
    held = facts.timetable
    for rule in (*held.windows, *held.freezes, *held.overrides):
        gone, hits = _met(rule, facts.changes)
        if gone:
            yield _vanished(rule, gone, facts)
        for same in hits:
            yield from _reported(same, facts)


# Clusters of a fleet share most rules.
@lru_cache(maxsize=1024)
def _met(
    rule: Rule,
    changes: tuple[ClockChange, ...],
) -> tuple[tuple[ClockChange, ...], tuple[tuple[_Hit, ...], ...]]:
    """Return the changes in which a rule does not exist, and the hits of each of its fields."""
    gone: list[ClockChange] = []
    hits: dict[str, list[_Hit]] = {}
    fields = _fields(rule)
    occurrences = _occurrences(rule, changes)
    for change in changes:
        begun = [each for each in occurrences if change.begins <= each[0] < change.ends]
        ended = [each for each in occurrences if change.begins <= each[1] < change.ends]
        # What does not exist at all has no edge that could be hit.
        if change.skips and fields[0] and any(ends <= change.ends for _, ends in begun):
            gone.append(change)
            continue
        # One of each is enough: a rule that recurs within the hour has the same trouble each time.
        for edge, (field, found) in enumerate(zip(fields, (begun, ended), strict=True)):
            if field and found:
                hit = _Hit(f"{rule.name}.{field}", found[0][edge], change)
                hits.setdefault(field, []).append(hit)
    return tuple(gone), tuple(map(tuple, hits.values()))


def _occurrences(rule: Rule, changes: Sequence[ClockChange]) -> list[tuple[datetime, datetime]]:
    """Return when a rule holds from the day before the first change on, on the wall clock."""
    if not changes:
        return []
    days = range(changes[0].begins.toordinal() - 1, changes[-1].ends.toordinal() + 2)
    found = table.intervals((rule,), UTC, days)
    return [(_moment(begins), _moment(ends)) for begins, ends in found]


def _moment(minute: int) -> datetime:
    return wallclock.at(minute).replace(tzinfo=None)


def _fields(rule: Rule) -> tuple[str, str]:
    """Return the fields that say when a rule begins and ends, empty for an instant.

    An instant with an offset of its own is on no wall clock.
    """
    first, last = _FIELDS[rule.kind]
    is_instant = isinstance(rule.begins, datetime) and rule.begins.tzinfo is not None
    if isinstance(rule.ends, datetime):
        return "" if is_instant else first, "" if rule.ends.tzinfo else last
    # The end of a window with a duration is no field of its own.
    last = "duration" if isinstance(rule.ends, timedelta) else last
    return ("", "") if is_instant else (first, last)


def _vanished(
    rule: Rule,
    changes: Sequence[ClockChange],
    facts: Facts,
) -> Result:
    first = changes[0]
    last = changes[-1]
    message = (
        "is skipped on "
        f"{first.begins:%a %Y-%m-%d}{findings.repeated(len(changes), last.begins)}: the clocks "
        f"of {facts.timetable.time_zone} skip {_span(first)}, and it lies within that; move it, "
        "or make it longer"
    )
    return findings.at(rules.OCCURRENCE_SKIPPED, rule.name, message, first.begins)


def _reported(hits: Iterable[_Hit], facts: Facts) -> Iterator[Result]:
    """Report the hits of one field: those in missing hours, and those in hours that come twice."""
    # In a missing hour an edge comes at its end; of a repeated hour the first showing counts.
    missing = [hit for hit in hits if hit.change.skips]
    doubled = [hit for hit in hits if not hit.change.skips]
    zone = facts.timetable.time_zone
    if missing:
        first = missing[0]
        day = f"{first.moment:%a %Y-%m-%d}"
        message = (
            f"falls on {first.moment:%H:%M} of {day}{_more(missing)}, which the clocks of "
            f"{zone} skip, so it happens at {first.change.ends:%H:%M} instead; use a time "
            f"outside {_span(first.change)}"
        )
        yield findings.at(rules.EDGE_MISSING_HOUR, first.path, message, first.moment)
    if doubled:
        first = doubled[0]
        day = f"{first.moment:%a %Y-%m-%d}"
        message = (
            f"falls on {first.moment:%H:%M} of {day}{_more(doubled)}, which the clocks of "
            f"{zone} show twice, and the first one counts; use a time outside "
            f"{_span(first.change)}"
        )
        yield findings.at(rules.EDGE_REPEATED_HOUR, first.path, message, first.moment)


def _more(hits: list[_Hit]) -> str:
    return findings.repeated(len(hits), hits[-1].moment)


def _span(change: ClockChange) -> str:
    return f"{change.begins:%H:%M} to {change.ends:%H:%M}"
