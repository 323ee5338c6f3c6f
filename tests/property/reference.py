"""The reference evaluator, slow and plain to read, to which laws hold the gate's evaluator."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from heapq import merge
from itertools import groupby
from operator import attrgetter
from zoneinfo import ZoneInfo

from krm_windows.gate.timetable import Decision
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timeline import Segment
from krm_windows.schedule.timetable import Rule, Timetable
from krm_windows.schedule.wallclock import utc, wall
from krm_windows.schedule.zones import zone

_DAY = timedelta(days=1)
_FAR = 400 * _DAY
_ALWAYS, _NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def decide(timetable: Timetable, at: datetime) -> Decision:
    now = next(timeline(timetable, at, at + timedelta.resolution))
    reasons = {rule.name: rule.reason for _, rule in _ranked(timetable)}
    words = (f"{name}: {reasons[name]}" if reasons.get(name) else name for name in now.rules)
    starts = (at - days * _DAY for days in (1, 8, 64, 400))
    looks = ((start, [*timeline(timetable, start, now.ends)][-1].begins) for start in starts)
    since = next((begins for start, begins in looks if begins > start), None)
    ends = next(timeline(timetable, at, at + _FAR)).ends
    until = ends if ends < at + _FAR else None
    return Decision(now.open, now.rules, "; ".join(words) or "no window is open", since, until)


def timeline(timetable: Timetable, start: datetime, until: datetime) -> Iterator[Segment]:
    start, until, early = start.astimezone(UTC), until.astimezone(UTC), timetable.closes_early
    parts = _shortened(_ruled(timetable, start, until + early), early)
    for is_open_now, run in groupby(
        (part for part in parts if part.begins < until), attrgetter("open")
    ):
        first, *more = run
        rules = dict.fromkeys(rule for part in (first, *more) for rule in part.rules)
        yield Segment(first.begins, min([first, *more][-1].ends, until), is_open_now, tuple(rules))


def _shortened(parts: Iterator[Segment], early: timedelta) -> Iterator[Segment]:
    """Close every open run `early`, except where an override opens."""
    for is_open_now, run in groupby(parts, attrgetter("open")):
        held = list(run)
        edge = held[-1].ends - early
        for part in held:
            stays = not is_open_now or part.rules[0].startswith("overrides.")
            ends = part.ends if stays else max(part.begins, min(part.ends, edge))
            if ends > part.begins:
                yield replace(part, ends=ends)
            if ends < part.ends:
                yield Segment(ends, part.ends, open=False, rules=("closesEarly",))


def _ruled(timetable: Timetable, start: datetime, until: datetime) -> Iterator[Segment]:
    tz = zone(timetable.time_zone)
    last = (_NEVER, _NEVER, 0, "")
    coming = merge(
        *(_occurrences(rank, rule, tz, start) for rank, rule in _ranked(timetable)), [last]
    )
    upcoming = next(coming)
    in_force: dict[tuple[int, str], datetime] = {}
    while start < until:
        while upcoming[0] <= start:
            _, ends, rank, name = upcoming
            in_force[rank, name] = ends  # of one rule, ends never run backwards
            upcoming = next(coming)
        in_force = {rule: ends for rule, ends in in_force.items() if ends > start}
        change = min(until, upcoming[0], *in_force.values())
        yield Segment(start, change, *_verdict(timetable, in_force))
        start = change


def _verdict(
    timetable: Timetable, in_force: Collection[tuple[int, str]]
) -> tuple[bool, tuple[str, ...]]:
    """Let the lowest rank in force decide, unless the state is held by hand."""
    if timetable.state != "Scheduled":
        return timetable.state == "Open", ("state",)
    if not in_force:
        return (True, ("outsideWindows",)) if timetable.outside_windows == "Open" else (False, ())
    lowest = min(in_force)[0]
    return lowest % 2 == 1, tuple(sorted(name for rank, name in in_force if rank == lowest))


def _ranked(timetable: Timetable) -> Iterator[tuple[int, Rule]]:
    """Rank every rule: overrides that close 0, that open 1, freezes 2, windows 3; odd ones open."""
    for rank, rules in ((0, timetable.overrides), (2, timetable.freezes), (3, timetable.windows)):
        yield from ((rank + (rule.state == "Open"), rule) for rule in rules)


def _occurrences(
    rank: int, rule: Rule, tz: ZoneInfo, start: datetime
) -> Iterator[tuple[datetime, datetime, int, str]]:
    """Give intervals that together are what `rule` covers; neither edge ever runs backwards."""
    if not isinstance(rule.begins, Recurrence):
        begin = rule.begins or _ALWAYS
        yield utc(begin, tz), utc(_end(rule, begin, tz), tz), rank, rule.name
        return
    moment = rule.begins.at_or_before(wall(start, tz)) or rule.begins.after(wall(start, tz))
    while moment is not None:
        end = _end(rule, moment, tz)
        yield utc(moment, tz), utc(end, tz), rank, rule.name
        if end == _NEVER:  # it covers whatever begins later
            return
        last = rule.begins.at_or_before(end)
        moment = last if last and last > moment else rule.begins.after(moment)


def _end(rule: Rule, begin: datetime, tz: ZoneInfo) -> datetime:
    """Find the end of the occurrence that begins at `begin`: naive, or an instant."""
    match end := rule.ends:
        case timedelta():
            return begin + end
        case time():
            same_day = datetime.combine(begin, end)
            return same_day if same_day > begin else same_day + _DAY
        case Recurrence():
            return end.after(wall(begin, tz) if begin.tzinfo else begin) or _NEVER
        case datetime():
            return end
