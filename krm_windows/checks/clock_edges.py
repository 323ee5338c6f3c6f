"""Edges that fall into a clock change: into an hour that is missing, or one that comes twice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import lru_cache

from krm_windows import rules
from krm_windows.checks import findings
from krm_windows.checks.clock_changes import ClockChange
from krm_windows.checks.facts import DAY, Facts
from krm_windows.results import Result
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule

_MINUTE = timedelta(minutes=1)


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


def check(facts: Facts) -> Iterator[Result]:
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
    for change in changes:
        # What does not exist at all has no edge that could be hit.
        if _vanishes(rule, change):
            gone.append(change)
            continue
        for hit in _hits(rule, change):
            hits.setdefault(hit.path, []).append(hit)
    return tuple(gone), tuple(map(tuple, hits.values()))


def _hits(rule: Rule, change: ClockChange) -> Iterator[_Hit]:
    """Yield the first beginning and the first end of a rule that fall into a change."""
    first, last = _FIELDS[rule.kind]
    # One of each is enough: a rule that recurs within the hour has the same trouble each time.
    begins = next(_begins(rule, change.begins, change.ends), None)
    if begins:
        yield _Hit(f"{rule.name}.{first}", begins, change)
    ends = next(_ends(rule, change), None)
    if ends:
        field = last
        # The end of a window with a duration is no field of its own.
        if isinstance(rule.ends, timedelta):
            field = "duration"
        yield _Hit(f"{rule.name}.{field}", ends, change)


def _begins(
    rule: Rule,
    first: datetime,
    last: datetime,
) -> Iterator[datetime]:
    """Yield the wall-clock beginnings from `first` on and before `last`."""
    if isinstance(rule.begins, Recurrence):
        moment = rule.begins.after(first - _MINUTE)
        while moment and moment < last:
            yield moment
            moment = rule.begins.after(moment)
    # An instant with an offset of its own is on no wall clock.
    elif rule.begins and not rule.begins.tzinfo and first <= rule.begins < last:
        yield rule.begins


def _ends(rule: Rule, change: ClockChange) -> Iterator[datetime]:
    """Yield the wall-clock ends in a change."""
    match rule.ends:
        case timedelta() as length:
            # What ends in the change began so long before.
            first = change.begins - length
            last = change.ends - length
            for begin in _begins(rule, first, last):
                yield begin + length
        case time() as clock:
            # A change may be around midnight, and so on two days.
            days = (change.begins.date(), (change.ends - _MINUTE).date())
            for day in dict.fromkeys(days):
                end = datetime.combine(day, clock)
                if _closes(rule, end, change):
                    yield end
        case Recurrence() as recurrence:
            yield from _recurring_ends(rule, recurrence, change)
        case datetime() as end:
            # An instant with an offset of its own is on no wall clock.
            if not end.tzinfo and change.begins <= end < change.ends:
                yield end


def _recurring_ends(
    rule: Rule,
    recurrence: Recurrence,
    change: ClockChange,
) -> Iterator[datetime]:
    end = recurrence.after(change.begins - _MINUTE)
    while end and end < change.ends:
        if _is_end(rule, recurrence, end):
            yield end
        end = recurrence.after(end)


def _closes(rule: Rule, end: datetime, change: ClockChange) -> bool:
    """Whether a time of day is in a change and ends what began in the day before."""
    if not change.begins <= end < change.ends:
        return False
    return any(_begins(rule, end - DAY, end))


def _is_end(rule: Rule, recurrence: Recurrence, end: datetime) -> bool:
    """Whether anything is open for this end to close."""
    if not isinstance(rule.begins, Recurrence):
        return False
    begin = rule.begins.at_or_before(end - _MINUTE)
    # Another end in between would have closed it before.
    return begin is not None and recurrence.after(begin) == end


def _vanishes(rule: Rule, change: ClockChange) -> bool:
    """Whether an occurrence lies wholly in a missing hour, so that it does not exist."""
    if not change.skips:
        return False
    ends = (_end_of(rule, begin) for begin in _begins(rule, change.begins, change.ends))
    return any(end <= change.ends for end in ends if end)


def _end_of(rule: Rule, begin: datetime) -> datetime | None:
    """Return the wall-clock end of an occurrence; None where there is none, or it is an instant."""
    match rule.ends:
        case timedelta() as length:
            return begin + length
        case time() as clock:
            # The next such time after the beginning, so 22:00 to 06:00 ends on the next day.
            end = datetime.combine(begin, clock)
            if end <= begin:
                end += DAY
            return end
        case Recurrence() as recurrence:
            return recurrence.after(begin)
        case datetime(tzinfo=None) as end:
            return end
        case _:
            return None


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
