"""When a policy is open, worked out: a table of UTC days.

The one place that knows moments, zones and ranks. Whatever asks whether a policy is open, by which
rules and until when reads a table. Days are counted as `date.toordinal` does, minutes from a day's
midnight on; a set of minutes is the bits of a number, the first minute the lowest.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import IntEnum
from functools import lru_cache, reduce
from itertools import pairwise
from math import inf
from operator import or_
from typing import NamedTuple, TypeAlias

from krm_windows.gate.table import DAY, Pattern, Span, Table
from krm_windows.schedule import bits, wallclock
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import End, Rule, Timetable
from krm_windows.schedule.wallclock import Part, WallClock

FULL = bits.FULL
_MINUTE = timedelta(minutes=1)
# What began on a 29 February may last until the next one, eight years later.
_LONGEST = 9 * 366
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ALWAYS = datetime.min.replace(tzinfo=UTC)
NEVER = (date.max.toordinal() + 2) * DAY
"""Later than any minute that has a date."""
_YEARS = range(date.min.year + 1, date.max.year)
_BESIDE = (
    *("policy", "cluster", "first_apply", "adopt_until", "former_names", "targets", "released"),
)
Minutes: TypeAlias = int
"""Minutes of a day, as bits."""
_Around: TypeAlias = tuple[int, int, int]
"""The numbers of a wall-clock day, of the one before it, and of the one after it."""


class Made(NamedTuple):
    """The table of some days; and `usual`, what it would be without what comes once."""

    table: Table
    usual: Table


def rules_of(timetable: Timetable) -> Timetable:
    """Return of a timetable what says when it is open: it is equal where that is the same."""
    beside = Timetable("", "")
    return timetable._replace(**{field: getattr(beside, field) for field in _BESIDE})


class Rank(IntEnum):
    """The strongest first: where a rule of one rank is in force, those below have no say."""

    CLOSING_OVERRIDE = 0
    OPENING_OVERRIDE = 1
    FREEZE = 2
    WINDOW = 3

    @property
    def opens(self) -> bool:
        """Whether its rules open what they cover; else they close it."""
        return self in (Rank.OPENING_OVERRIDE, Rank.WINDOW)


class Covered(NamedTuple):
    """What a rule covers of a day."""

    rank: Rank
    rule: str
    minutes: Minutes


class TooLargeError(ValueError):
    """A table is larger than it may be."""


def make(timetable: Timetable, tz: tzinfo, days: range, most: float = inf) -> Made:
    """Work out some days of a timetable, all but its `state`.

    Raises `TooLargeError` where its patterns name more than `most` rules, a rule once a span.
    """
    early = -(-timetable.closes_early // _MINUTE)
    # What is open late on the last day is decided by the days after it.
    further = range(days.start, days.stop + early // DAY + 1)
    clock = WallClock(tz, further)
    recurring = _recurring(timetable, clock, further, most)
    dated = _dated(timetable, tz, further)
    usual = _patterns(timetable, recurring, early, most)[: len(days)]
    every = usual
    if dated:
        both = (
            (*dated.get(day, ()), *found) for day, found in zip(further, recurring, strict=True)
        )
        sorted_days = [tuple(sorted(found)) for found in both]
        every = _patterns(timetable, sorted_days, early, most)[: len(days)]
    return Made(Table(days.start, every), Table(days.start, usual))


def _ranked(timetable: Timetable) -> Iterator[tuple[Rank, Rule]]:
    for rule in timetable.overrides:
        # Two overrides that contradict each other close, as doubt always does here.
        is_open = rule.state == "Open"
        yield Rank.OPENING_OVERRIDE if is_open else Rank.CLOSING_OVERRIDE, rule
    for rule in timetable.freezes:
        yield Rank.FREEZE, rule
    for rule in timetable.windows:
        yield Rank.WINDOW, rule


def _recurring(
    timetable: Timetable,
    clock: WallClock,
    days: range,
    most: float,
) -> list[tuple[Covered, ...]]:
    """Return what rules that recur cover of each UTC day."""
    wall_days = range(days.start - 2, days.stop + 2)
    on_days: dict[int, list[Covered]] = {day: [] for day in wall_days}
    for rank, rule in _ranked(timetable):
        if isinstance(rule.begins, Recurrence):
            on_wall_days = _on_wall_days(rule, wall_days)
            # The days of a week are alike, or nearly so.
            of_rule = {each: Covered(rank, rule.name, each) for each in set(on_wall_days.values())}
            for day, minutes in on_wall_days.items():
                on_days[day].append(of_rule[minutes])
    # Few days differ, so few are worked out.
    numbers: dict[tuple[Covered, ...], int] = {}
    number = [numbers.setdefault(tuple(on_day), len(numbers)) for on_day in on_days.values()]
    different = tuple(numbers)
    worked: dict[tuple[tuple[Part, ...], _Around], tuple[Covered, ...]] = {}
    found = []
    # In a UTC day the clocks show something of the wall-clock day before, of that day, and of the
    # next.
    around = zip(number[1:], number[2:], number[3:], strict=False)
    for key in zip(map(clock.parts, days), around, strict=False):
        if key not in worked:
            parts, shown = key
            worked[key] = _in_utc(parts, [different[each] for each in shown])
            most -= len(worked[key])
            if most < 0:
                raise TooLargeError
        found.append(worked[key])
    return found


def _in_utc(parts: tuple[Part, ...], around: Sequence[tuple[Covered, ...]]) -> tuple[Covered, ...]:
    """Turn what is covered of three wall-clock days into what is covered of the UTC day amid."""
    minutes: dict[tuple[Rank, str], Minutes] = {}
    for part in parts:
        whole = bits.below(part.length)
        for midnight, on_wall_day in zip((-DAY, 0, DAY), around, strict=True):
            for rank, rule, on_day in on_wall_day:
                ahead = part.shown - midnight
                shown = on_day >> ahead if ahead > 0 else on_day << -ahead
                if not part.runs:
                    # What holds at the minute that is shown holds for as long as it is shown.
                    shown = whole if shown & 1 else 0
                key = rank, rule
                minutes[key] = minutes.get(key, 0) | (shown & whole) << part.begins
    return tuple(sorted(Covered(*key, found) for key, found in minutes.items() if found))


def _dated(timetable: Timetable, tz: tzinfo, days: range) -> dict[int, list[Covered]]:
    """Return what rules that come once cover of UTC days."""
    found: dict[int, list[Covered]] = {}
    for rank, rule in _ranked(timetable):
        if isinstance(rule.begins, Recurrence):
            continue
        begins, ends = interval(rule, tz)
        first, last = max(begins, days.start * DAY), min(ends, days.stop * DAY)
        for day in range(first // DAY, -(-last // DAY) if first < last else 0):
            minutes = bits.below(min(last - day * DAY, DAY)) & ~bits.below(first - day * DAY)
            found.setdefault(day, []).append(Covered(rank, rule.name, minutes))
    return found


def interval(rule: Rule, tz: tzinfo) -> tuple[int, int]:
    """Return the UTC minutes from and until which a rule holds that comes once.

    Of one since always, the first is that of `datetime.min`; without an end, the last is `NEVER`.
    """
    begins = rule.begins
    if isinstance(begins, Recurrence):
        raise TypeError(f"{rule.name} recurs")
    if begins is None:
        begins = _ALWAYS
    end = _end(rule.ends, begins, tz)
    return _utc(begins, tz), NEVER if end is None else _utc(end, tz)


def _end(ends: End, begins: datetime, tz: tzinfo) -> datetime | None:
    """Find the end of what begins at a moment; None where none has a date."""
    if isinstance(ends, datetime):
        return ends
    if isinstance(ends, timedelta):
        last = datetime.max.replace(tzinfo=begins.tzinfo)
        return begins + ends if last - begins > ends else None
    shown = wallclock.wall(begins, tz) if begins.tzinfo else begins
    if isinstance(ends, Recurrence):
        return ends.after(shown)
    same_day = datetime.combine(shown, ends)
    return same_day if same_day > shown else same_day + timedelta(days=1)


def _utc(moment: datetime, tz: tzinfo) -> int:
    # No clock is asked beyond the calendar's ends.
    if _YEARS.start <= moment.year < _YEARS.stop:
        moment = wallclock.utc(moment, tz)
    return wallclock.minute_of(moment)


def intervals(rules: Iterable[Rule], tz: tzinfo, days: range) -> list[tuple[int, int]]:
    """Return the UTC minutes of some days in which any of some rules holds, whatever others say.

    Each interval is half open; those that touch are one.
    """
    alone = Timetable("", "", windows=tuple(rules))
    found: list[tuple[int, int]] = []
    for day, pattern in zip(days, make(alone, tz, days).table.days, strict=True):
        for begins, ends in stretches(opened(pattern)):
            if found and found[-1][1] == day * DAY + begins:
                found[-1] = found[-1][0], day * DAY + ends
            else:
                found.append((day * DAY + begins, day * DAY + ends))
    return found


@lru_cache(maxsize=1024)
def opened(pattern: Pattern) -> Minutes:
    """Return the minutes of a day at which it is open."""
    minutes = 0
    for span in pattern:
        if span.open:
            minutes |= bits.below(span.ends) & ~bits.below(span.begins)
    return minutes


def edges(days: Table) -> Iterator[tuple[int, Minutes, Minutes]]:
    """Yield each day but the first, the minutes at which it opens in it, and at which it closes."""
    for number, (before, now) in enumerate(pairwise(map(opened, days.days)), days.first + 1):
        # In the minute before each.
        was = now << 1 & FULL | before >> DAY - 1
        yield number, now & ~was, was & ~now


@lru_cache(maxsize=1024)
def stretches(minutes: Minutes) -> tuple[tuple[int, int], ...]:
    """Return beginning and end of each run of minutes of a day."""
    edges = list(bits.numbers(minutes ^ minutes << 1))
    return tuple(zip(edges[::2], edges[1::2], strict=True))


def _on_wall_days(rule: Rule, days: range) -> dict[int, Minutes]:
    """Return the minutes that a rule that recurs covers of wall-clock days."""
    begins, ends = rule.begins, rule.ends
    if not isinstance(begins, Recurrence) or isinstance(ends, datetime):
        raise TypeError(f"{rule.name} does not recur")
    if isinstance(ends, time):
        # The next such time, on any day.
        ends = Recurrence(frozenset({ends.minute}), frozenset({ends.hour}))
    if isinstance(ends, Recurrence):
        return _until_next(begins, ends, days)
    return _lasting(begins, ends // _MINUTE, days)


def _lasting(begins: Recurrence, length: int, days: range) -> dict[int, Minutes]:
    """Cover so many minutes from each beginning on."""
    covered = bits.lasting(begins.times, length)
    # Of the day that is named, and of those after it.
    parts = [covered >> midnight & FULL for midnight in range(0, covered.bit_length(), DAY)]
    found: dict[int, Minutes] = {}
    for named in begins.named(range(days.start - len(parts), days.stop)):
        for day, minutes in enumerate(parts, named):
            found[day] = found.get(day, 0) | minutes
    return {day: minutes for day, minutes in found.items() if day in days}


def _until_next(begins: Recurrence, ends: Recurrence, days: range) -> dict[int, Minutes]:
    """Cover what lasts from each beginning until the first end after it."""
    # What ends every week has begun in the week before.
    searched = range(days.start - (7 if ends.is_weekly else _LONGEST), days.stop)
    begun, ended = set(begins.named(searched)), set(ends.named(searched))
    found: dict[int, Minutes] = {}
    goes_on = False
    for day in searched:
        if not (goes_on or day in begun):
            continue
        minutes = _of_day(
            begins.times if day in begun else 0,
            ends.times if day in ended else 0,
            goes_on=goes_on,
        )
        goes_on = minutes >> (DAY - 1) == 1
        found[day] = minutes
    return {day: minutes for day, minutes in found.items() if day in days}


@lru_cache(maxsize=64)
def _of_day(begins: Minutes, ends: Minutes, *, goes_on: bool) -> Minutes:
    # The minute before midnight is bit 0 here: what goes on has begun in it.
    filled = bits.filled(begins << 1 | goes_on, (FULL & ~ends) << 1)
    return filled >> 1


def _patterns(
    timetable: Timetable, covered: list[tuple[Covered, ...]], early: int, most: float
) -> tuple[Pattern, ...]:
    open_outside = timetable.outside_windows == "Open"
    worked: dict[tuple[tuple[Covered, ...], int], tuple[Pattern, int]] = {}
    same: dict[Pattern, Pattern] = {}
    found = []
    # From the last day on, as when it closes early depends on what comes.
    open_after = early  # for how many minutes it is open from the end of the day on
    for of_day in reversed(covered):
        key = of_day, open_after
        if key not in worked:
            pattern, before = _pattern(of_day, early, open_after, open_outside=open_outside)
            if pattern not in same:
                most -= sum(len(span.rules) for span in pattern)
            if most < 0:
                raise TooLargeError
            worked[key] = same.setdefault(pattern, pattern), before
        pattern, open_after = worked[key]
        found.append(pattern)
    return tuple(reversed(found))


def _pattern(
    covered: tuple[Covered, ...], early: int, open_after: int, *, open_outside: bool
) -> tuple[Pattern, int]:
    """Name what decides in each span of a day that closes early.

    With it, for how many minutes it would be open from the day's beginning on, at most `early`.
    """
    left = FULL  # each minute is that of the first rank that is in force in it
    opened = overridden = 0
    deciding: list[tuple[Minutes, bool, str]] = []
    for rank in Rank:
        of_rank = [each for each in covered if each.rank is rank and each.minutes & left]
        deciding += [(each.minutes & left, rank.opens, each.rule) for each in of_rank]
        held = left & reduce(or_, (each.minutes for each in of_rank), 0)
        left &= ~held
        if rank.opens:
            opened |= held
        if rank is Rank.OPENING_OVERRIDE:
            overridden = held
    if open_outside:
        opened |= left
        deciding.append((left, True, "outsideWindows"))
    before = min(early, bits.first(~opened) + (opened == FULL) * open_after)
    if early:
        # Open is what stays so for all of the margin, and a minute more; an override says itself
        # until when.
        closing = bits.leading(FULL & ~opened, early + 1)
        lasting = opened & bits.below(DAY + open_after - early) & ~closing | overridden
        shortened = opened & ~lasting
        deciding = [(minutes & ~shortened, is_open, rule) for minutes, is_open, rule in deciding]
        deciding.append((shortened, False, "closesEarly"))
    return tuple(_spans(deciding)), before


def _spans(deciding: list[tuple[Minutes, bool, str]]) -> Iterator[Span]:
    """Cut a day where what decides changes."""
    edges = {0, DAY}
    for minutes, _, _ in deciding:
        edges.update(bits.numbers(minutes ^ minutes << 1))
    for begins, ends in pairwise(sorted(edges)):
        found = [(is_open, rule) for minutes, is_open, rule in deciding if minutes >> begins & 1]
        if found:
            yield Span(begins, ends, found[0][0], tuple(sorted(rule for _, rule in found)))


def rows(made: Made) -> dict[str, object]:
    """Write a table as `gate.table` reads it: a line for each week that differs from the last.

    Its names and its weeks depend on what recurs alone, so that a date changes its own days only.
    """
    names: dict[Pattern, str] = {(): ". "}
    for pattern in made.usual.days:
        if pattern not in names:
            names[pattern] = f"{len(names)} "
    if len(names) <= len(_LETTERS):
        names = dict(zip(names, (".", *_LETTERS), strict=False))
    first, end = made.table.first, made.table.first + len(made.table.days)
    weeks: dict[str, str] = {}
    last = ""
    for begins, ends in pairwise([*_mondays(first, end), end]):
        week = "".join(names[usual] for usual in made.usual.days[begins - first : ends - first])
        if not last.startswith(week):
            weeks[_iso(begins)] = last = week
    pairs = zip(made.table.days, made.usual.days, strict=True)
    dates = {day: own for day, (own, usual) in enumerate(pairs, first) if own != usual}
    return {
        "patterns": {name.strip(): list(map(_written, spans)) for spans, name in names.items()},
        "days": {**weeks, _iso(end): ""},
        "dates": dict(_joined(dates)),
    }


def _mondays(first: int, end: int) -> Iterator[int]:
    """Yield the first day, and all Mondays that follow before the end."""
    yield first
    yield from range(first + 7 - (first - 1) % 7, end, 7)  # day 1 is a Monday


def _iso(day: int) -> str:
    return date.fromordinal(day).isoformat()


def _joined(dates: dict[int, Pattern]) -> Iterator[tuple[str, list[str]]]:
    """Yield days that are alike and follow each other as one: `2026-12-20/2027-01-03`."""
    while dates:
        first = last = min(dates)
        pattern = dates.pop(first)
        while dates.get(last + 1) == pattern:
            del dates[last + 1]
            last += 1
        text = _iso(first) if last == first else f"{_iso(first)}/{_iso(last)}"
        yield text, list(map(_written, pattern))


def _written(span: Span) -> str:
    """Write a span as `Span.parse` reads it: `07:00-24:00 windows.week`."""
    closed = () if span.open else ("closed",)
    return " ".join((f"{_clock(span.begins)}-{_clock(span.ends)}", *closed, *span.rules))


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
