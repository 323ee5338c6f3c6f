"""When a policy is open, in the grammar of Alertmanager's time intervals.

That grammar (Alertmanager, "Configuration", time_interval) is a union of boxes: times of day in
certain weekdays, days of the month, months and years, on the clock of a location. Nothing can be
taken away from it, so what recurs and what is dated is divided into days here, each with its
minutes by the one evaluator, and days that are alike become boxes again. Nothing is said about what
Alertmanager does in an hour that a clock change repeats.
"""

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple, TypeAlias

from krm_windows.plan.grouping import grouped
from krm_windows.policy.occurrences import CYCLE
from krm_windows.schedule import bits, cron, table
from krm_windows.schedule.bits import DAY, FULL
from krm_windows.schedule.cron import LONGEST_MONTHS
from krm_windows.schedule.durations import rounded_up
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.table import stretches
from krm_windows.schedule.timetable import Kind, Rule, Timetable
from krm_windows.schedule.wallclock import WallClock

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers as ranges, each with its first and its last; none for any number."""
_Minutes: TypeAlias = int
_Cell: TypeAlias = tuple[int, int, int]
"""A month, a day of it (from its end where that is negative), and a weekday (0 is Sunday)."""
_Box: TypeAlias = tuple[_Minutes, Ranges, Ranges]
"""Minutes, with the weekdays and the days of the month that they are of."""

_END = datetime(9999, 12, 31, tzinfo=UTC)
FIRST_YEAR = 1970
LAST_YEAR = 9999
_WEEK = range(date(2001, 1, 7).toordinal(), date(2001, 1, 14).toordinal())
"""Any week, from a Sunday on."""
# Of days farther away nothing is dated.
_KNOWN = range(date(2, 1, 1).toordinal(), date(9998, 12, 31).toordinal())
_FEBRUARY = 2
_LAST_DAY = 31
_HALF = 15


@dataclass(frozen=True, slots=True)
class Interval:
    """A box: `times` are half-open ranges of minutes of a day, none for all of it."""

    times: Ranges = ()
    weekdays: Ranges = ()
    days: Ranges = ()
    months: Ranges = ()
    years: Ranges = ()


@dataclass(frozen=True, slots=True)
class Intervals:
    """When it is open, and when it is not.

    `lost` are the names of rules that the grammar cannot say in full; it is closed there.
    """

    open: tuple[Interval, ...]
    closed: tuple[Interval, ...]
    lost: tuple[str, ...] = ()


def intervals(timetable: Timetable) -> Intervals:
    """Divide a timetable; raises `LookupError` without the rules of its zone."""
    always, never = (Interval(),), ()
    # `state` wins over every rule, so nothing of them is left to say.
    if timetable.state == "Open":
        return Intervals(always, never)
    if timetable.state != "Scheduled":
        return Intervals(never, always)
    eras = _eras(timetable)
    # Once for both: what is closed is the rest of what is open.
    dated = dict(_dated(timetable, eras))
    return Intervals(
        open=tuple(_written(eras, dated, _same)),
        closed=tuple(_written(eras, dated, _other)),
        lost=_lost(timetable, eras),
    )


def _same(minutes: _Minutes) -> _Minutes:
    return minutes


def _other(minutes: _Minutes) -> _Minutes:
    return FULL & ~minutes


class _Cells(NamedTuple):
    """What is open on the days of a year, and whether that is so in every year."""

    cells: Mapping[_Cell, _Minutes]
    is_exact: bool


class _Whole:
    """What recurs of a timetable, on a wall clock that never changes.

    `standing` are dated rules that hold all the time.
    """

    def __init__(self, timetable: Timetable, standing: frozenset[Rule]) -> None:
        self._recurring = _only(timetable, _recurs)
        forever = self._recurring
        # In the order of their names, as every build gives the same bytes.
        for rule in sorted(standing, key=_name):
            forever = _with(forever, rule._replace(begins=None, ends=_END))
        self._timetable = forever
        self._days: dict[int, _Minutes] = {}

    def on(self, day: int) -> _Minutes:
        """Return when it is open on a day, had nothing else been dated."""
        if day not in self._days:
            # Of the cycle at once: most days that are asked for are in it.
            days = CYCLE if day in CYCLE else range(day, day + 366)
            self._days.update(_opened(self._timetable, UTC, days))
        return self._days[day]

    @property
    def is_exact(self) -> bool:
        """Whether what is open on a day depends on nothing but its cell."""
        return self._found.is_exact

    @property
    def cells(self) -> Mapping[_Cell, _Minutes]:
        """What is open on every day of a year, and only what is so in every year."""
        return self._found.cells

    @cached_property
    def _found(self) -> _Cells:
        if all(rule.is_weekly for rule in _rules(self._recurring)):
            # Seven days say it all, and most policies are such.
            week = [self.on(day) for day in _WEEK]
            of_week = {
                (month, day, weekday): week[weekday] for month, day, weekday in _every_cell()
            }
            return _Cells(of_week, is_exact=True)
        # Days of February are counted from its beginning; from its end where they are alike so: its
        # last Friday, say; or the first half and the second half in one way each, for what lasts
        # from the end of a month into the next.
        from_beginning = self._cells(_LAST_DAY)
        ways = chain([from_beginning], map(self._cells, (1, _HALF)))
        return next((cells for cells in ways if cells.is_exact), from_beginning)

    def _cells(self, from_end: int) -> _Cells:
        """Compare the years; days of February are counted from its end from a day on."""
        found: dict[_Cell, _Minutes] = {}
        is_exact = True
        for number in CYCLE:
            cell = _cell(date.fromordinal(number), from_end)
            minutes = self.on(number)
            before = found.setdefault(cell, minutes)
            if before != minutes:
                # Closed where it depends on the year: doubt always closes here.
                found[cell] = before & minutes
                is_exact = False
        if from_end == _HALF:
            # Counted from the end, the 15th of a leap year is the 14th of other years.
            is_exact &= all(
                found[_FEBRUARY, -_HALF, day] == found[_FEBRUARY, _HALF - 1, day]
                for day in range(7)
            )
        return _Cells(found, is_exact)


@dataclass(frozen=True, slots=True)
class _Era:
    """Years in which the same dated rules hold throughout, and what recurs in them."""

    years: range
    whole: _Whole


def _every_cell() -> Iterator[_Cell]:
    for month, days in LONGEST_MONTHS.items():
        for day in range(1, days + 1):
            for weekday in range(7):
                yield month, day, weekday


def _cell(day: date, from_end: int) -> _Cell:
    number = day.day
    # Every other month is as long in all years, so either way of counting says the same.
    if day.month == _FEBRUARY and number >= from_end:
        # -1 is the last day.
        number -= (day.replace(month=3, day=1) - day.replace(day=1)).days + 1
    return day.month, number, day.isoweekday() % 7


def _eras(timetable: Timetable) -> list[_Era]:
    """Divide all years by the dated rules that hold throughout them."""
    full = {rule: _full_years(rule, timetable) for rule in _rules(timetable) if not _recurs(rule)}
    # Years between which the rules that hold throughout change.
    cuts = {FIRST_YEAR, LAST_YEAR + 1}
    for years in full.values():
        if years:
            cuts.update((years.start, years.stop))
    wholes: dict[frozenset[Rule], _Whole] = {}
    found = []
    for first, after in pairwise(sorted(cuts)):
        standing = frozenset(rule for rule, years in full.items() if first in years)
        # Once before and once after a long freeze the same recurs.
        if standing not in wholes:
            wholes[standing] = _Whole(timetable, standing)
        found.append(_Era(range(first, after), wholes[standing]))
    return found


def _lost(timetable: Timetable, eras: Iterable[_Era]) -> tuple[str, ...]:
    """Name the rules that the grammar cannot say; of several that only together it cannot, all."""
    if all(era.whole.is_exact for era in eras):
        return ()
    doubtful = [rule for rule in _rules(timetable) if _recurs(rule) and not rule.is_weekly]
    found = []
    for rule in doubtful:
        # As a window of its own: what is around it cannot excuse it.
        alone = _only(timetable, rule.__eq__)
        if not _Whole(alone, frozenset()).is_exact:
            found.append(rule.name)
    return tuple(found or [rule.name for rule in doubtful])


def _rules(timetable: Timetable) -> tuple[Rule, ...]:
    return (*timetable.windows, *timetable.freezes, *timetable.overrides)


def _recurs(rule: Rule) -> bool:
    return isinstance(rule.begins, Recurrence)


def _only(timetable: Timetable, wanted: Callable[[Rule], object]) -> Timetable:
    """Return a timetable with some of its rules."""
    return timetable._replace(
        windows=tuple(filter(wanted, timetable.windows)),
        freezes=tuple(filter(wanted, timetable.freezes)),
        overrides=tuple(filter(wanted, timetable.overrides)),
    )


def _with(timetable: Timetable, rule: Rule) -> Timetable:
    """Return a timetable with one more rule."""
    if rule.kind is Kind.WINDOW:
        return timetable._replace(windows=(*timetable.windows, rule))
    if rule.kind is Kind.FREEZE:
        return timetable._replace(freezes=(*timetable.freezes, rule))
    return timetable._replace(overrides=(*timetable.overrides, rule))


def _name(rule: Rule) -> str:
    return rule.name


def _full_years(rule: Rule, timetable: Timetable) -> range:
    """Return the years that a dated rule holds throughout, whatever the clock is."""
    begins, ends = table.interval(rule, timetable.zone)
    first = FIRST_YEAR
    if rule.begins is not None:
        # A day more: by another clock it may begin in the year after.
        first = max(_year(begins + DAY) + 1, FIRST_YEAR)
    # What closes early does so in the days before the end, which are looked at one by one.
    return range(first, max(min(_year(ends - DAY), LAST_YEAR + 1), first))


def _year(minute: int) -> int:
    """Return the year of a UTC minute, or of the last day that has one."""
    return date.fromordinal(min(minute // DAY, bits.LAST_DAY)).year


def _days_of(rule: Rule, timetable: Timetable) -> Iterator[range]:
    """Yield the days of the wall clock, as ordinals, on which a dated rule may change anything.

    Not those of the years that it holds throughout, but for their edges.
    """
    begins, ends = table.interval(rule, timetable.zone)
    # What closes early does so before the rule begins; clocks are within a day of UTC.
    early = rounded_up(timetable.closes_early, timedelta(days=1)) + 2
    first, last = begins // DAY, ends // DAY
    full = _full_years(rule, timetable)
    # Most are shorter than a year, and are looked at day by day.
    if not full:
        yield range(first - early, last + 2)
        return
    if rule.begins is not None:
        yield range(first - early, date(full.start, 1, 1).toordinal() + 2)
    # What never ends has no last days.
    if full.stop <= LAST_YEAR:
        yield range(date(full.stop, 1, 1).toordinal() - early, last + 2)


def _dated(timetable: Timetable, eras: Iterable[_Era]) -> Iterator[tuple[date, _Minutes]]:
    """Yield the days that are otherwise than what recurs, in order."""
    numbers: set[int] = set()
    for rule in _rules(timetable):
        if not _recurs(rule):
            for days_of_rule in _days_of(rule, timetable):
                numbers.update(day for day in days_of_rule if day in _KNOWN)
    opened: dict[int, _Minutes] = {}
    for run in cron.runs(sorted(numbers)):
        around = range(run[0] - 1, run[-1] + 2)
        opened.update(_on_wall(timetable, around))
    for era in eras:
        first = date(era.years.start, 1, 1).toordinal()
        last = date(era.years[-1], 12, 31).toordinal()
        for number in sorted(number for number in numbers if first <= number <= last):
            minutes = opened[number]
            # A freeze on days that are closed anyway is no line of the output.
            if minutes != era.whole.on(number):
                yield date.fromordinal(number), minutes


def _opened(timetable: Timetable, tz: tzinfo, days: range) -> dict[int, _Minutes]:
    """Return the minutes of each UTC day at which a timetable is open."""
    found = table.make(timetable, tz, days).table
    return dict(zip(days, map(table.opened, found.days), strict=True))


def _on_wall(timetable: Timetable, days: range) -> dict[int, _Minutes]:
    """Return when it is open on days of the wall clock, as its clocks show them."""
    clock = WallClock(timetable.zone, days)
    found = dict.fromkeys(days, 0)
    for day, opened in _opened(timetable, timetable.zone, days).items():
        for length, (begins, shown, runs) in clock.parts(day):
            # What is shown again was shown before; what is left out never is.
            part = (opened >> begins) & bits.below(length) if runs else 0
            # Moved to where the wall clock shows them, over midnight too.
            shown_day, minute = divmod(shown, DAY)
            for each, minutes in (
                (shown_day, part << minute & FULL),
                (shown_day + 1, part << minute >> DAY),
            ):
                if each in found:
                    found[each] |= minutes
    return found


def _written(
    eras: Iterable[_Era],
    dated: Mapping[date, _Minutes],
    chosen: Callable[[_Minutes], _Minutes],
) -> Iterator[Interval]:
    """Write the minutes that are chosen of every day: of most years first, then what is dated."""
    # By year, month and day: a year with a dated day is written by months, such a month by days.
    years: dict[int, dict[int, dict[int, _Minutes]]] = {}
    for day, minutes in dated.items():
        months_of_year = years.setdefault(day.year, {})
        days_of_month = months_of_year.setdefault(day.month, {})
        days_of_month[day.day] = minutes
    for era in eras:
        of_era = {year: months for year, months in years.items() if year in era.years}
        yield from _of_era(era, of_era, chosen)


def _of_era(
    era: _Era,
    dated: Mapping[int, Mapping[int, Mapping[int, _Minutes]]],
    chosen: Callable[[_Minutes], _Minutes],
) -> Iterator[Interval]:
    boxes = _boxes(era.whole.cells, chosen)
    every = frozenset(range(1, 13))
    # In an era of one year with a dated day there is no other year.
    plain = set(era.years) - dated.keys()
    if plain:
        yield from _recurring(boxes, every, _but_all(plain, LAST_YEAR + 1 - FIRST_YEAR))
    for year, months in dated.items():
        yield from _recurring(boxes, every - months.keys(), ((year, year),))
        for month, days in months.items():
            yield from _of_month(era.whole, date(year, month, 1), days, chosen)


def _recurring(
    boxes: Mapping[_Box, frozenset[int]],
    wanted: frozenset[int],
    years: Ranges,
) -> Iterator[Interval]:
    for (minutes, weekdays, days), months in boxes.items():
        within = months & wanted
        if within:
            yield Interval(_times(minutes), weekdays, days, _but_all(within, 12), years)


def _of_month(
    whole: _Whole,
    first: date,
    dated: Mapping[int, _Minutes],
    chosen: Callable[[_Minutes], _Minutes],
) -> Iterator[Interval]:
    """Write a month in which something is dated, day by day; those that are alike together."""
    _, length = monthrange(first.year, first.month)
    minutes_on: dict[int, _Minutes] = {}
    for day in range(1, length + 1):
        number = first.toordinal() + day - 1
        minutes_on[day] = chosen(dated.get(day, whole.on(number)))
    days_of = grouped((minutes, day) for day, minutes in minutes_on.items() if minutes)
    for minutes, days in days_of.items():
        yield Interval(
            times=_times(minutes),
            days=_ranges(days),
            months=((first.month, first.month),),
            years=((first.year, first.year),),
        )


def _boxes(
    cells: Mapping[_Cell, _Minutes],
    chosen: Callable[[_Minutes], _Minutes],
) -> Mapping[_Box, frozenset[int]]:
    """Put days together that are alike: those of a weekday, such weekdays, and such months."""
    minutes_on = {cell: chosen(minutes) for cell, minutes in cells.items()}
    days_of = grouped(
        ((minutes, month, weekday), day)
        for (month, day, weekday), minutes in minutes_on.items()
        if minutes
    )
    # `monday` and `tuesday` of the same days are `monday:tuesday`.
    weekdays_of = grouped(
        ((minutes, month, _days(days, month)), weekday)
        for (minutes, month, weekday), days in days_of.items()
    )
    # And so are months: `1:11`.
    return grouped(
        ((minutes, _but_all(weekdays, 7), days), month)
        for (minutes, month, days), weekdays in weekdays_of.items()
    )


def _days(days: frozenset[int], month: int) -> Ranges:
    """Return days of a month as ranges; the end of a month is 31, which each of them is cut to."""
    # All days of the month: to name none is to name any.
    if len(days) == LONGEST_MONTHS[month]:
        return ()
    found = _ranges(days)
    first, last = found[-1]
    if last == LONGEST_MONTHS[month]:
        return (*found[:-1], (first, _LAST_DAY))
    return found


def _but_all(numbers: Iterable[int], count: int) -> Ranges:
    """Return numbers as ranges, none where all of so many are there."""
    found = set(numbers)
    if len(found) == count:
        return ()
    return _ranges(found)


def _ranges(numbers: Iterable[int]) -> Ranges:
    runs = cron.runs(sorted(numbers))
    return tuple((run[0], run[-1]) for run in runs)


def _times(minutes: _Minutes) -> Ranges:
    if minutes == FULL:
        return ()
    return stretches(minutes)
