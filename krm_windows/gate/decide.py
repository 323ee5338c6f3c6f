"""The one evaluator: when a policy is open, by which rule, since when and until when."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from zoneinfo import ZoneInfo

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import End, Rule, Timetable
from krm_windows.gate.wallclock import instant, wall, zone

_DAY = timedelta(days=1)
_LOOK_BACK = tuple(days * _DAY for days in (1, 8, 64, 400))
_HORIZON = 400 * _DAY
_ALWAYS = datetime.min.replace(tzinfo=UTC)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Segment:
    """The half-open UTC interval [`begins`, `ends`), in which the policy is `open` or not.

    `rules` are the paths in the spec of what makes it so: windows, freezes, overrides, or `state`, `outsideWindows`,
    `closesEarly`; none where it is closed because no window is open.
    """

    begins: datetime
    ends: datetime
    open: bool
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """What holds at an instant; `since` and `until` are UTC, None if more than 400 days away."""

    open: bool
    rules: tuple[str, ...]
    reason: str
    since: datetime | None
    until: datetime | None


def decide(timetable: Timetable, at: datetime) -> Decision:
    """Say whether `timetable` is open at the aware instant `at`; raise `LookupError` for an unknown zone."""
    now = next(segments(timetable, at, at + timedelta.resolution))
    run = next(timeline(timetable, at, at + _HORIZON))
    until = run.ends if run.ends < at + _HORIZON else None
    return Decision(now.open, now.rules, _reason(timetable, now), _since(timetable, at), until)


def is_open(timetable: Timetable, at: datetime) -> bool:
    """Whether `timetable` is open at the aware instant `at`."""
    return next(segments(timetable, at, at + timedelta.resolution)).open


def timeline(timetable: Timetable, start: datetime, until: datetime) -> Iterator[Segment]:
    """Cover [`start`, `until`) with segments that alternate between open and closed; lazily, in order.

    The rules of a segment are all that make it so at some time in it.
    """
    for is_open_now, run in groupby(segments(timetable, start, until), attrgetter("open")):
        parts = list(run)
        rules = tuple(dict.fromkeys(rule for part in parts for rule in part.rules))
        yield Segment(parts[0].begins, parts[-1].ends, is_open_now, rules)


def segments(timetable: Timetable, start: datetime, until: datetime) -> Iterator[Segment]:
    """Cover [`start`, `until`) as `timeline` does, with a segment of its own wherever other rules make it so."""
    start, until = start.astimezone(UTC), until.astimezone(UTC)
    if timetable.state != "Scheduled":
        yield Segment(start, until, timetable.state == "Open", ("state",))
        return
    early = timetable.closes_early
    for segment in _shortened(_ruled(timetable, start, until + early), early):
        if segment.begins < until:
            yield replace(segment, ends=min(segment.ends, until))


def _since(timetable: Timetable, at: datetime) -> datetime | None:
    for span in _LOOK_BACK:
        *_, run = timeline(timetable, at - span, at + timedelta.resolution)
        if run.begins > at - span:
            return run.begins
    return None


def _reason(timetable: Timetable, now: Segment) -> str:
    reasons = {rule.name: rule.reason for _, rule in _ranked(timetable)}
    words = (f"{name}: {reasons[name]}" if reasons.get(name) else name for name in now.rules)
    return "; ".join(words) or "outside all windows"


def _shortened(parts: Iterator[Segment], early: timedelta) -> Iterator[Segment]:
    """Close every open run `early`, except where an override opens."""
    for is_open_now, run in groupby(parts, attrgetter("open")):
        held = list(run)
        edge = held[-1].ends - early if is_open_now else _NEVER
        for part in held:
            if part.ends <= edge or part.rules[0].startswith("overrides."):
                yield part
                continue
            if part.begins < edge:
                yield replace(part, ends=edge)
            yield Segment(max(part.begins, edge), part.ends, open=False, rules=("closesEarly",))


def _ruled(timetable: Timetable, start: datetime, until: datetime) -> Iterator[Segment]:
    """Sweep over the changes of all rules, before `closesEarly`."""
    tz = zone(timetable.time_zone)
    changes = merge(*(_changes(rank, rule, tz, start, until) for rank, rule in _ranked(timetable)))
    in_force: set[tuple[int, str]] = set()
    begins = start
    for at, group in groupby(changes, itemgetter(0)):
        if at > begins:
            yield Segment(begins, at, *_verdict(timetable, in_force))
            begins = at
        in_force.symmetric_difference_update((rank, name) for _, rank, name in group)
    yield Segment(begins, until, *_verdict(timetable, in_force))


def _verdict(timetable: Timetable, in_force: set[tuple[int, str]]) -> tuple[bool, tuple[str, ...]]:
    """Let the lowest rank in force decide."""
    if not in_force:
        is_open_now = timetable.outside_windows == "Open"
        return is_open_now, ("outsideWindows",) if is_open_now else ()
    lowest = min(in_force)[0]
    return bool(lowest % 2), tuple(sorted(name for rank, name in in_force if rank == lowest))


def _ranked(timetable: Timetable) -> Iterator[tuple[int, Rule]]:
    """Every rule with its rank: overrides that close 0, that open 1, freezes 2, windows 3; odd ranks open."""
    for rank, rules in ((0, timetable.overrides), (2, timetable.freezes), (3, timetable.windows)):
        for rule in rules:
            yield rank + (rule.state == "Open"), rule


def _changes(
    rank: int, rule: Rule, tz: ZoneInfo, start: datetime, until: datetime
) -> Iterator[tuple[datetime, int, str]]:
    """Say when `rule` comes into force and when it ends, in turn; occurrences that touch are one."""
    reach = None
    for begins, ends in _occurrences(rule, tz, start):
        if begins >= until:
            break
        if ends <= max(begins, start):
            continue  # over, or wholly inside a missing hour
        if reach is not None and begins > reach:
            yield reach, rank, rule.name
        if reach is None or begins > reach:
            yield max(begins, start), rank, rule.name
        reach = ends if reach is None else max(reach, ends)
    if reach is not None and reach < until:
        yield reach, rank, rule.name


def _occurrences(rule: Rule, tz: ZoneInfo, start: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Give UTC intervals, in order, that together are what `rule` covers from `start` on.

    Ends never run backwards: of all that begin by some moment, only the last to begin matters.
    """
    if not isinstance(rule.begins, Recurrence):
        begin = rule.begins or _ALWAYS
        yield _utc(begin, tz), _utc(_end(rule.ends, begin, tz), tz)
        return
    now = wall(start, tz)
    moment = rule.begins.at_or_before(now) or rule.begins.after(now)
    while moment is not None:
        end = _end(rule.ends, moment, tz)
        yield _utc(moment, tz), _utc(end, tz)
        last = rule.begins.at_or_before(end)
        moment = last if last and last > moment else rule.begins.after(moment)


def _end(end: End, begin: datetime, tz: ZoneInfo) -> datetime:
    """Find the end of the occurrence that begins at `begin`: naive, or an instant."""
    match end:
        case timedelta():
            return begin + end
        case time():
            same_day = datetime.combine(begin, end)
            return same_day if same_day > begin else same_day + _DAY
        case Recurrence():
            return end.after(wall(begin, tz) if begin.tzinfo else begin) or _NEVER
        case datetime():
            return end


def _utc(moment: datetime, tz: ZoneInfo) -> datetime:
    return moment if moment.tzinfo else instant(moment, tz)
