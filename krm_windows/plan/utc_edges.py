"""The edges of a timetable in UTC: triggers that need no zone data of the CronJob controller.

The controller reads `timeZone` by zone data of its own, of whatever release it was built with, and
fires at odd times around a change of the clock. `Etc/UTC` it reads right. What the gate decides by
is the policy's own zone rules, so the UTC instants of all edges are known here: what recurs comes
at one of the offsets that these rules have, or, where the clock skips it, at the very change; what
is dated comes once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache, partial

from krm_windows.gate import bits, coverage, wallclock
from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Rule, Timetable
from krm_windows.plan import covering
from krm_windows.plan.covering import EVERY_DAY, Days, Moments

HOUR, DAY = 60, 24 * 60
_MINUTE = timedelta(minutes=1)
# Of each sort (what recurs, what comes once) at most so many CronJobs; the last one takes what
# would be more.
MOST = 4
# A build reads no clock. Offsets and changes of these years are those that matter to policies of
# today.
_FIRST, _LAST = datetime(2026, 1, 1, tzinfo=UTC), datetime(2046, 1, 1, tzinfo=UTC)
# No zone has changed its clock twice within so many days.
_STEP = timedelta(days=4)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One CronJob: minutes of an hour, hours, days."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: Days

    def __str__(self) -> str:
        """Write it as cron does."""
        minutes, hours = (
            covering.field(self.minutes, range(HOUR)),
            covering.field(self.hours, range(24)),
        )
        return f"{minutes} {hours} {' '.join(self.days.fields())}"

    @property
    def first(self) -> int:
        """The first minute of a day at which it fires."""
        return min(self.hours) * HOUR + min(self.minutes)

    def fires(self, minute: int) -> bool:
        """Whether it fires at a minute of the day."""
        return minute % HOUR in self.minutes and minute // HOUR in self.hours


@dataclass(frozen=True, slots=True)
class Change:
    """At the UTC minute `at` clocks go from one offset to another, in minutes.

    It is counted as `coverage.minute` does.
    """

    at: int
    before: int
    after: int


def recurring(timetable: Timetable, tz: tzinfo) -> list[Schedule]:
    """Return the schedules that meet whatever recurs, but for what a clock change skips."""
    offsets = _offsets(tz)
    found: dict[Days, int] = {}
    for _, early, recurrence, at in _recurrences(timetable):
        # At each offset, as a CronJob in UTC does not know which of them holds on a day: 08:00 in
        # Berlin is 06:00 or 07:00. One run too many finds nothing to do.
        for offset in offsets:
            # 00:30 at +01:00 is 23:30 of the day before, so its days are another schedule's.
            for shift, minutes in at.shifted(-offset - early).on_days().items():
                days = covering.cover_days(recurrence, frozenset({shift}))
                found[days] = found.get(days, 0) | minutes
    return _schedules(found)


def _offsets(tz: tzinfo) -> set[int]:
    """Return all offsets that a zone has in the coming years, in minutes."""
    found = {_offset(tz, _FIRST)}
    for change in changes(tz):
        found |= {change.before, change.after}
    return found


def single(
    timetable: Timetable,
    tz: tzinfo,
    met: list[Schedule],
) -> list[tuple[Schedule, frozenset[str]]]:
    """Return daily schedules for what comes once, and for times that a clock change skips.

    Beside each one are the names of the rules that it is for. What daily schedules of `met` meet is
    left out.
    """
    daily = [each for each in met if each.days == EVERY_DAY]
    # The names of the rules that want each minute of the day.
    found: dict[int, set[str]] = {}
    for rule, minute in (*_dated(timetable, tz), *_skipped(timetable, tz)):
        if not any(each.fires(minute) for each in daily):
            found.setdefault(minute, set()).add(rule)
    schedules = [_daily(minute) for minute in sorted(found)]
    if len(found) > MOST:
        schedules = _schedules({EVERY_DAY: bits.of(found)})
    return [(each, _fired_for(each, found)) for each in schedules]


def _daily(minute: int) -> Schedule:
    return Schedule(frozenset({minute % HOUR}), frozenset({minute // HOUR}), EVERY_DAY)


def _fired_for(schedule: Schedule, found: Mapping[int, set[str]]) -> frozenset[str]:
    """Return the names of the rules that a schedule is for."""
    wanted = (names for minute, names in found.items() if schedule.fires(minute))
    return frozenset().union(*wanted)


def _schedules(found: Mapping[Days, int]) -> list[Schedule]:
    """Give each minute of an hour a schedule.

    Those that differ in nothing else are one, and so are those too many. `found`: the minutes
    of the UTC day that are wanted on some days, as bits.
    """
    hours: dict[int, frozenset[int]] = {}
    days: dict[int, set[Days]] = {}
    # A CronJob has each of its minutes in all of its hours, so each minute is looked at alone.
    for wanted, minutes in found.items():
        for minute, of_day in covering.hours_at(minutes).items():
            hours[minute] = hours.get(minute, frozenset()) | of_day
            days.setdefault(minute, set()).add(wanted)
    alike: dict[tuple[frozenset[int], Days], set[int]] = {}
    for minute, of_day in hours.items():
        alike.setdefault((of_day, _together(days[minute])), set()).add(minute)
    every = [Schedule(frozenset(minutes), of_day, on) for (of_day, on), minutes in alike.items()]
    # The rarest ones stay alone: together they would fire at each other's hours too.
    every.sort(key=lambda each: (len(each.hours) * len(each.minutes), each.first))
    if len(every) > MOST:
        every[MOST - 1 :] = [_joined(every[MOST - 1 :])]
    return sorted(every, key=lambda each: each.first)


def _joined(schedules: list[Schedule]) -> Schedule:
    """Make one schedule of several; it fires at each minute of every hour that any of them has."""
    return Schedule(
        frozenset().union(*(each.minutes for each in schedules)),
        frozenset().union(*(each.hours for each in schedules)),
        _together({each.days for each in schedules}),
    )


def _together(several: set[Days]) -> Days:
    """Return day fields that match whenever any of `several` does.

    A schedule with both day fields restricted fires on either; so fields of one sort are joined,
    and a mixture is every day.
    """
    if len(several) == 1:
        return next(iter(several))
    months = frozenset().union(*(each.months for each in several))
    if all(each.days == covering.MONTH for each in several):
        return Days(covering.MONTH, months, frozenset().union(*(each.weekdays for each in several)))
    if all(each.weekdays == covering.WEEK for each in several):
        return Days(frozenset().union(*(each.days for each in several)), months, covering.WEEK)
    return EVERY_DAY


def _edges(timetable: Timetable) -> Iterator[tuple[Rule, int, int]]:
    """Yield each rule with how long before its beginning and end an edge may be.

    In minutes of real time. `closesEarly` moves what closes. An override that opens ends into what
    was closed already if it is shorter than that; and what one holds open is not closed ahead of
    another that closes.
    """
    early = -(-timetable.closes_early // _MINUTE)
    held_open = any(rule.state == "Open" for rule in timetable.overrides)
    for rule in timetable.windows:
        yield rule, 0, early
    for rule in timetable.freezes:
        yield rule, early, 0
    for rule in timetable.overrides:
        if rule.state == "Open":
            yield rule, 0, 0
            yield rule, 0, early
        else:
            yield rule, early, 0
            if held_open:
                yield rule, 0, 0


def _recurrences(timetable: Timetable) -> Iterator[tuple[Rule, int, Recurrence, Moments]]:
    """Yield the beginnings and the ends of what recurs.

    How early they are looked at, on which days, and when then.
    """
    for rule, begin, end in _edges(timetable):
        if isinstance(rule.begins, Recurrence):
            at = covering.moments(rule.begins)
            yield rule, begin, rule.begins, at
            if isinstance(rule.ends, time | timedelta):
                yield rule, end, rule.begins, covering.ends_of(at, rule.ends)
            elif isinstance(rule.ends, Recurrence):
                yield rule, end, rule.ends, covering.moments(rule.ends)


def _dated(timetable: Timetable, tz: tzinfo) -> Iterator[tuple[str, int]]:
    """Yield rule and minute of the UTC day of everything that comes once.

    What is never, or since always, does not.
    """
    for rule, begin, end in _edges(timetable):
        if not isinstance(rule.begins, Recurrence):
            begins, ends = coverage.interval(rule, tz)
            if rule.begins is not None:
                yield rule.name, (begins - begin) % DAY
            if ends < coverage.NEVER:
                yield rule.name, (ends - end) % DAY


def _skipped(timetable: Timetable, tz: tzinfo) -> Iterator[tuple[str, int]]:
    """Yield rule and minute of the UTC day of edges that a clock change skips.

    They come when it has skipped them.
    """
    skips = [
        (change.at, _skipped_by(change)) for change in changes(tz) if change.after > change.before
    ]
    for rule, shift, recurrence, moments in _recurrences(timetable):
        on_days = moments.on_days()
        for at, skipped in skips:
            if _within(skipped, recurrence, on_days):
                yield rule.name, (at - shift) % DAY


def _skipped_by(change: Change) -> dict[int, int]:
    """Return the wall-clock minutes that a change skips, as bits of each day."""
    first, last = change.at + change.before, change.at + change.after - 1
    return {
        day: coverage.of_interval((first, last + 1), day)
        for day in range(first // DAY, last // DAY + 1)
    }


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
def changes(tz: tzinfo) -> tuple[Change, ...]:
    """Return the changes of the clock in the coming years."""
    return tuple(_changes(tz))


def _changes(tz: tzinfo) -> Iterator[Change]:
    at, before = _FIRST, _offset(tz, _FIRST)
    while at < _LAST:
        later = at + _STEP
        after = _offset(tz, later)
        if after != before:
            changed = wallclock.first_minute(at, later, partial(_shows, tz, after))
            yield Change(coverage.minute(changed), before, after)
        at, before = later, after


def _shows(tz: tzinfo, offset: int, at: datetime) -> bool:
    return _offset(tz, at) == offset


def _offset(tz: tzinfo, at: datetime) -> int:
    """Return how many minutes clocks are ahead of UTC."""
    return (at.astimezone(tz).utcoffset() or timedelta()) // _MINUTE
