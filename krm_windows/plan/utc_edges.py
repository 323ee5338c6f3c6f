"""The edges of a timetable in UTC: triggers that need no zone data of the CronJob controller.

The controller reads `timeZone` by zone data of its own, of whatever release it was built with, and
fires at odd times around a change of the clock. `Etc/UTC` it reads right. What the gate decides by
is the policy's own zone rules, so the UTC instants of all edges are known here: what recurs comes
at one of the offsets that these rules have, or, where the clock skips it, at the very change; what
is dated comes once.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from krm_windows.gate import bits, coverage
from krm_windows.gate.bits import DAY
from krm_windows.gate.recurrence import EVERY_DAY, EVERY_WEEKDAY, Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.gate.zones import Zone
from krm_windows.plan import covering
from krm_windows.plan.covering import ANY_DAY, HOUR, DayFields, Moments
from krm_windows.plan.grouping import grouped
from krm_windows.schedule import cron
from krm_windows.schedule.durations import rounded_up

_MINUTE = timedelta(minutes=1)
# Of each sort (what recurs, what comes once) at most so many CronJobs; the last one takes what
# would be more.
MOST = 4
# A build reads no clock. Offsets and changes of these years are those that matter to policies of
# today.
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_LAST = datetime(2046, 1, 1, tzinfo=UTC)


class Schedule(NamedTuple):
    """One CronJob: minutes of an hour, hours, days."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: DayFields

    def __str__(self) -> str:
        """Write it as cron does."""
        minutes = cron.field(self.minutes, range(HOUR))
        hours = cron.field(self.hours, range(24))
        day, month, weekday = self.days.fields()
        return f"{minutes} {hours} {day} {month} {weekday}"

    @property
    def first(self) -> int:
        """The first minute of a day at which it fires."""
        return min(self.hours) * HOUR + min(self.minutes)

    def fires(self, minute: int) -> bool:
        """Whether it fires at a minute of the day."""
        return minute % HOUR in self.minutes and minute // HOUR in self.hours


class _Recurring(NamedTuple):
    """Beginning or end of a rule that recurs: at some moments of the days of a recurrence.

    The edge comes `early` minutes of real time before them.
    """

    rule: Rule
    early: int
    days: Recurrence
    moments: Moments


class _Ahead(NamedTuple):
    """How many minutes of real time an edge of a rule comes before its beginning, and its end."""

    rule: Rule
    begin: int
    end: int


class ClockChange(NamedTuple):
    """At the UTC minute `at` clocks go from one offset to another, in minutes.

    It is counted as `coverage.minute` does.
    """

    at: int
    before: int
    after: int


def recurring(timetable: Timetable, tz: Zone) -> list[Schedule]:
    """Return the schedules that meet whatever recurs, but for what a clock change skips."""
    offsets = _offsets(tz)
    found: dict[DayFields, int] = {}
    for edge in _recurrences(timetable):
        # At each offset, as a CronJob in UTC does not know which of them holds on a day: 08:00 in
        # Berlin is 06:00 or 07:00. One run too many finds nothing to do.
        for offset in offsets:
            in_utc = edge.moments.shifted(-offset - edge.early)
            # 00:30 at +01:00 is 23:30 of the day before, so its days are another schedule's.
            for shift, minutes in in_utc.on_days().items():
                days = covering.cover_days(edge.days, frozenset({shift}))
                found[days] = found.get(days, 0) | minutes
    return _schedules(found)


def _offsets(tz: Zone) -> set[int]:
    """Return all offsets that a zone has in the coming years, in minutes."""
    found = {_offset(tz, _FIRST)}
    for change in changes(tz):
        found |= {change.before, change.after}
    return found


def single(
    timetable: Timetable,
    tz: Zone,
    met: list[Schedule],
) -> list[tuple[Schedule, frozenset[str]]]:
    """Return daily schedules for what comes once, and for times that a clock change skips.

    Beside each one are the names of the rules that it is for. What daily schedules of `met` meet is
    left out.
    """
    daily = [each for each in met if each.days == ANY_DAY]
    # The names of the rules that want each minute of the day.
    found: dict[int, set[str]] = {}
    for rule, minute in (*_dated(timetable, tz), *_skipped(timetable, tz)):
        # A CronJob has no year: it runs at that minute on every day, and finds nothing to do.
        if not any(each.fires(minute) for each in daily):
            found.setdefault(minute, set()).add(rule)
    schedules = [_daily(minute) for minute in sorted(found)]
    # As with what recurs: few CronJobs that run too often, rather than hundreds.
    if len(found) > MOST:
        schedules = _schedules({ANY_DAY: bits.of(found)})
    return [(each, _fired_for(each, found)) for each in schedules]


def _daily(minute: int) -> Schedule:
    return Schedule(frozenset({minute % HOUR}), frozenset({minute // HOUR}), ANY_DAY)


def _fired_for(schedule: Schedule, found: Mapping[int, set[str]]) -> frozenset[str]:
    """Return the names of the rules that a schedule is for."""
    wanted = (names for minute, names in found.items() if schedule.fires(minute))
    return frozenset().union(*wanted)


def _schedules(found: Mapping[DayFields, int]) -> list[Schedule]:
    """Give each minute of an hour a schedule.

    Those that differ in nothing else are one, and so are those too many. `found`: the minutes
    of the UTC day that are wanted on some days, as bits.
    """
    hours_at: dict[int, frozenset[int]] = {}
    wanted_at: list[tuple[int, DayFields]] = []
    # A CronJob has each of its minutes in all of its hours, so each minute is read alone.
    for days, minutes in found.items():
        for minute, hours in covering.hours_at(minutes).items():
            hours_at[minute] = hours_at.get(minute, frozenset()) | hours
            wanted_at.append((minute, days))
    days_at = grouped(wanted_at)
    # Then minutes with the same hours and days share a CronJob: 0,30 6-7 * * *.
    minutes_of = grouped(
        ((hours, _together(days_at[minute])), minute) for minute, hours in hours_at.items()
    )
    every = [Schedule(past, hours, days) for (hours, days), past in minutes_of.items()]
    # The rarest ones stay alone: together they would fire at each other's hours too.
    every.sort(key=_frequency)
    if len(every) > MOST:
        rest = _joined(every[MOST - 1 :])
        every = [*every[: MOST - 1], rest]
    return sorted(every, key=lambda each: each.first)


def _frequency(schedule: Schedule) -> tuple[int, int]:
    """Return how often a schedule fires on its days, and for equal ones its first minute."""
    return len(schedule.hours) * len(schedule.minutes), schedule.first


def _joined(schedules: list[Schedule]) -> Schedule:
    """Make one schedule of several; it fires at each minute of every hour that any of them has."""
    minutes: set[int] = set()
    hours: set[int] = set()
    days: set[DayFields] = set()
    for schedule in schedules:
        minutes |= schedule.minutes
        hours |= schedule.hours
        days.add(schedule.days)
    return Schedule(frozenset(minutes), frozenset(hours), _together(days))


def _together(several: Collection[DayFields]) -> DayFields:
    """Return day fields that match whenever any of `several` does.

    A schedule with both day fields restricted fires on either; so fields of one sort are joined,
    and a mixture is every day.
    """
    if len(several) == 1:
        return next(iter(several))
    days = frozenset().union(*(each.days for each in several))
    months = frozenset().union(*(each.months for each in several))
    weekdays = frozenset().union(*(each.weekdays for each in several))
    # Months are joined in any case: a field more that is reached is a run too many, never one too
    # few.
    if all(each.days == EVERY_DAY for each in several):
        return DayFields(EVERY_DAY, months, weekdays)
    if all(each.weekdays == EVERY_WEEKDAY for each in several):
        return DayFields(days, months, EVERY_WEEKDAY)
    return ANY_DAY


def _edges(timetable: Timetable) -> Iterator[_Ahead]:
    """Yield for each rule how long before its beginning and end an edge may be.

    `closesEarly` moves what closes, but for two edges. The end of an override that opens stays
    where it is if the override is shorter than that: what is below was closed before. And what one
    override holds open is not closed ahead of another one that closes.
    """
    # Rounded up to whole minutes, as a run must not come after the edge.
    early = rounded_up(timetable.closes_early, _MINUTE)
    held_open = any(rule.state == "Open" for rule in timetable.overrides)
    for rule in timetable.windows:
        yield _Ahead(rule, 0, early)
    # A freeze closes where it begins, so it is the beginning that comes early.
    for rule in timetable.freezes:
        yield _Ahead(rule, early, 0)
    for rule in timetable.overrides:
        if rule.state == "Open":
            yield _Ahead(rule, 0, 0)
            # Once at the end as it is written, and once ahead of it: which one holds depends on
            # what is below.
            yield _Ahead(rule, 0, early)
        else:
            yield _Ahead(rule, early, 0)
            if held_open:
                yield _Ahead(rule, 0, 0)


def _recurrences(timetable: Timetable) -> Iterator[_Recurring]:
    """Yield the beginnings and the ends of what recurs."""
    for rule, begin, end in _edges(timetable):
        # What begins once or always is `_dated`.
        if not isinstance(rule.begins, Recurrence):
            continue
        at = covering.moments(rule.begins)
        yield _Recurring(rule, begin, rule.begins, at)
        if isinstance(rule.ends, time | timedelta):
            # On the days of the beginning, or that much later.
            yield _Recurring(rule, end, rule.begins, covering.ends_of(at, rule.ends))
        elif isinstance(rule.ends, Recurrence):
            yield _Recurring(rule, end, rule.ends, covering.moments(rule.ends))


def _dated(timetable: Timetable, tz: Zone) -> Iterator[tuple[str, int]]:
    """Yield rule and minute of the UTC day of everything that comes once.

    What is never, or since always, does not.
    """
    for rule, begin, end in _edges(timetable):
        if isinstance(rule.begins, Recurrence):
            continue
        begins, ends = coverage.interval(rule, tz)
        if rule.begins is not None:
            yield rule.name, (begins - begin) % DAY
        if ends < coverage.NEVER:
            yield rule.name, (ends - end) % DAY


def _skipped(timetable: Timetable, tz: Zone) -> Iterator[tuple[str, int]]:
    """Yield rule and minute of the UTC day of edges that a clock change skips.

    They come when it has skipped them.
    """
    # A clock that is put back skips nothing: then an edge comes twice, and both are reached.
    forward = [change for change in changes(tz) if change.after > change.before]
    skips = [(change.at, _skipped_by(change)) for change in forward]
    for edge in _recurrences(timetable):
        on_days = edge.moments.on_days()
        for at, skipped in skips:
            if _within(skipped, edge.days, on_days):
                yield edge.rule.name, (at - edge.early) % DAY


def _skipped_by(change: ClockChange) -> dict[int, int]:
    """Return the wall-clock minutes that a change skips, as bits of each day."""
    # 02:00 to 02:59 where clocks go from 01:59 to 03:00.
    first = change.at + change.before
    last = change.at + change.after - 1
    days = range(first // DAY, last // DAY + 1)
    return {day: coverage.of_interval((first, last + 1), day) for day in days}


def _within(
    skipped: dict[int, int],
    days: Recurrence,
    moments: dict[int, int],
) -> bool:
    """Whether a change skips any moment of a recurrence, for each day around a named one."""
    for day, minutes in skipped.items():
        if any(at & minutes and days.on(day - shift) for shift, at in moments.items()):
            return True
    return False


@lru_cache(maxsize=64)
def changes(tz: Zone) -> tuple[ClockChange, ...]:
    """Return the changes of the clock in the coming years."""
    return tuple(_changes(tz))


def _changes(tz: Zone) -> Iterator[ClockChange]:
    before = _offset(tz, _FIRST)
    for transition in tz.transitions(_FIRST.year, _LAST.year - 1):
        after = transition.clock.offset // _MINUTE
        # Where only the name of the clock changes (`BST` to `IST`), nothing is skipped.
        if after != before:
            yield ClockChange(coverage.minute(transition.at), before, after)
        before = after


def _offset(tz: tzinfo, at: datetime) -> int:
    """Return how many minutes clocks are ahead of UTC."""
    return (at.astimezone(tz).utcoffset() or timedelta()) // _MINUTE
