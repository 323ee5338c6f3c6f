"""Edges that fall into a clock change: into an hour that is missing, or one that comes twice."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.clock_changes import ClockChange
from krm_windows.checks.facts import Facts
from krm_windows.results import Result
from krm_windows.schedule import wallclock
from krm_windows.schedule.timetable import Kind, Rule

# What the fields of a rule are called that say when it begins and when it ends.
_FIELDS = {
    Kind.WINDOW: ("opens", "closes"),
    Kind.FREEZE: ("starts", "ends"),
    Kind.OVERRIDE: ("starts", "ends"),
}


_Hits = dict[tuple[str, bool], list[tuple[datetime, ClockChange]]]
"""By field and whether clocks skip: when on the wall clock an edge falls into which change."""


def shifted(facts: Facts) -> Iterator[Result]:
    """Yield what clock changes do to windows, freezes and overrides."""
    held = facts.timetable
    for rule in (*held.windows, *held.freezes, *held.overrides):
        gone, hits = _met(facts, rule)
        if gone:
            first = gone[0].begins
            message = (
                f"is skipped on {first:%a %Y-%m-%d}"
                f"{findings.repeated(len(gone), gone[-1].begins)}: the clocks of "
                f"{held.time_zone} skip {_span(gone[0])}, and it lies within that; move it, or "
                "make it longer"
            )
            yield findings.at(rules.OCCURRENCE_SKIPPED, rule.name, message, first)
        for (field, skips), found in hits.items():
            moment, change = found[0]
            check = rules.EDGE_MISSING_HOUR if skips else rules.EDGE_REPEATED_HOUR
            does = "show twice, and the first one counts"
            if skips:
                does = f"skip, so it happens at {change.ends:%H:%M} instead"
            message = (
                f"falls on {moment:%H:%M} of {moment:%a %Y-%m-%d}"
                f"{findings.repeated(len(found), found[-1][0])}, which the clocks of "
                f"{held.time_zone} {does}; use a time outside {_span(change)}"
            )
            yield findings.at(check, f"{rule.name}.{field}", message, moment)


def _met(facts: Facts, rule: Rule) -> tuple[list[ClockChange], _Hits]:
    """Return the changes in which a rule does not exist, and the edges that fall into others."""
    gone: list[ClockChange] = []
    hits: _Hits = {}
    fields = _fields(rule)
    occurrences = [
        (wallclock.at(begins).replace(tzinfo=None), wallclock.at(ends).replace(tzinfo=None))
        for begins, ends in facts.occurrences(rule)
    ]
    for change in facts.changes:
        first, after = change.begins, change.ends
        begun = [each for each in occurrences if first <= each[0] < after]
        ended = [each for each in occurrences if first <= each[1] < after]
        # What does not exist at all has no edge that could be hit.
        if change.skips and fields[0] and any(ends <= after for _, ends in begun):
            gone.append(change)
            continue
        # One of each is enough: a rule that recurs within the hour has the same trouble each time.
        for edge, (field, found) in enumerate(zip(fields, (begun, ended), strict=True)):
            if field and found:
                hits.setdefault((field, change.skips), []).append((found[0][edge], change))
    return gone, hits


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


def _span(change: ClockChange) -> str:
    return f"{change.begins:%H:%M} to {change.ends:%H:%M}"
