"""When a policy is open, in the grammar of Alertmanager's time intervals.

That grammar (Alertmanager, "Configuration", time_interval) is a union of boxes: times of day in
certain weekdays, days of the month, months and years, on the clock of a location. Nothing can be
taken away from it. So days of any year that are alike become boxes, as far as they are alike in all
years; then every day of the table is held against these boxes, and a month with a day that they do
not say is written day by day, with its year. Before the years of the table, and after them, only
what recurs is said. Nothing is said about what Alertmanager does in an hour that a clock change
repeats.
"""

from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date
from itertools import product
from typing import NamedTuple, TypeAlias

from krm_windows.gate.table import Table
from krm_windows.plan.grouping import grouped
from krm_windows.plan.timetable import COVERED, FIRST_DAY, LAST_DAY, covered
from krm_windows.policy.occurrences import CYCLE
from krm_windows.schedule import bits, cron, table
from krm_windows.schedule.bits import DAY, FULL
from krm_windows.schedule.cron import LONGEST_MONTHS
from krm_windows.schedule.timetable import Timetable
from krm_windows.schedule.wallclock import WallClock

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers as ranges, each with its first and its last; none for any number."""
_Days: TypeAlias = Mapping[int, int]
"""The minutes of each day that are said, as bits."""
_Cells: TypeAlias = Mapping[tuple[int, int, int], int]
"""The minutes of a month, a day of it (from its end if negative), and a weekday (0 is Sunday)."""
_Box: TypeAlias = tuple[int, Ranges, Ranges]
"""Minutes, with the weekdays and the days of the month that they are of."""

FIRST_YEAR = 1970
LAST_YEAR = 9999
# Whole years of the table, of which the ends are known only in part.
_DAYS = range(date(FIRST_DAY.year + 1, 1, 1).toordinal(), LAST_DAY.toordinal() + 1)
# The year before these stands for all before them, the one after them for all that follow.
_YEARS = range(FIRST_DAY.year, LAST_DAY.year + 2)
_FEBRUARY = 2
_LAST_DAY = 31
# Days of February are counted from its end from one of these on: never; all of them, such as the
# last Friday; or half of them, where something lasts from the end of a month into the next.
_FROM_END = (_LAST_DAY, 1, 15)


class Interval(NamedTuple):
    """A box: `times` are half-open ranges of minutes of a day, none for all of it."""

    times: Ranges = ()
    weekdays: Ranges = ()
    days: Ranges = ()
    months: Ranges = ()
    years: Ranges = ()


class Intervals(NamedTuple):
    """When it is open, and when it is not."""

    open: tuple[Interval, ...]
    closed: tuple[Interval, ...]


def intervals(timetable: Timetable) -> Intervals:
    """Divide a timetable; raises `LookupError` for an unknown zone."""
    always, never = (Interval(),), ()
    # `state` wins over every rule, so nothing of them is left to say.
    if timetable.state != "Scheduled":
        is_open = timetable.state == "Open"
        return Intervals(always, never) if is_open else Intervals(never, always)
    # On a clock that never changes.
    recurring = _opened(table.make(timetable, UTC, CYCLE).usual)
    days = _days(timetable, recurring)
    return Intervals(
        open=tuple(_written(recurring, days)),
        closed=tuple(_written(_inverted(recurring), _inverted(days))),
    )


def _opened(days: Table) -> _Days:
    return dict(enumerate(map(table.opened, days.days), days.first))


def _inverted(days: _Days) -> _Days:
    return {day: FULL & ~minutes for day, minutes in days.items()}


def _days(timetable: Timetable, recurring: _Days) -> _Days:
    """Return when it is open on the days of the wall clock that the table covers."""
    made = covered(timetable)
    found = {day: recurring[CYCLE[(day - CYCLE.start) % len(CYCLE)]] for day in _DAYS}
    opened, usual = _opened(made.table), _opened(made.usual)
    odd = [day for day in _DAYS if opened[day] != usual[day]]
    # A day in UTC is a part of the days around it.
    near = _around(odd) & set(_DAYS[:-1])
    return {**found, **_on_wall(timetable, opened, near)}


def _around(days: Collection[int]) -> set[int]:
    """Return days, with the one before and the one after each."""
    return {day + step for day, step in product(days, (-1, 0, 1))}


def _on_wall(timetable: Timetable, opened: _Days, days: Collection[int]) -> _Days:
    """Turn what is open on days in UTC into days as the clocks show them."""
    clock = WallClock(timetable.zone, COVERED)
    found = dict.fromkeys(days, 0)
    for day in sorted(_around(days)):
        for length, begins, shown, runs in clock.parts(day):
            # What is shown again was shown before; what is left out never is.
            part = (opened[day] >> begins) & bits.below(length) if runs else 0
            # Moved to where the wall clock shows them, over midnight too.
            shown_day, minute = divmod(day * DAY + shown, DAY)
            for each, minutes in (
                (shown_day, part << minute & FULL),
                (shown_day + 1, part << minute >> DAY),
            ):
                if each in found:
                    found[each] |= minutes
    return found


def _written(recurring: _Days, days: _Days) -> Iterator[Interval]:
    """Write what recurs, and the months of the table's days that it does not say."""
    ways = [_cells(recurring, from_end) for from_end in _FROM_END]
    cells, unsaid = min(((each, _unsaid(each, days)) for each in ways), key=lambda way: len(way[1]))
    boxes = _boxes(cells)
    own = grouped((day.year, day.month) for day in map(date.fromordinal, unsaid))
    found: list[tuple[tuple[_Box, int], int]] = []
    for year in _YEARS:
        months = own.get(year, frozenset())
        for box, of_box in boxes.items():
            found += [((box, year), month) for month in of_box - months]
        for month in sorted(months):
            found += [((box, year), month) for box in _boxes_of(year, month, days)]
    years_of = grouped(((box, months), year) for (box, year), months in grouped(found).items())
    for ((minutes, weekdays, of_month), months), years in years_of.items():
        times = () if minutes == FULL else table.stretches(minutes)
        yield Interval(times, weekdays, of_month, _but_all(months, 12), _years(years))


def _cells(recurring: _Days, from_end: int) -> _Cells:
    """Put days together that are so in every year; of what depends on the year nothing is said."""
    found: dict[tuple[int, int, int], int] = {}
    for number, minutes in recurring.items():
        day = date.fromordinal(number)
        # Every other month is as long in all years, so either way of counting says the same.
        is_from_end = day.month == _FEBRUARY and day.day >= from_end
        cell = day.month, _from_end(day) if is_from_end else day.day, day.isoweekday() % 7
        found[cell] = found.get(cell, FULL) & minutes
    return dict(sorted(found.items()))


def _from_end(day: date) -> int:
    """Return which day of its month a day is, counted from its end: -1 is the last."""
    return day.day - monthrange(day.year, day.month)[1] - 1


def _unsaid(cells: _Cells, days: _Days) -> list[int]:
    """Return the days of which cells do not say what is so."""
    found = []
    for number, minutes in days.items():
        day = date.fromordinal(number)
        weekday = day.isoweekday() % 7
        said = cells.get((day.month, day.day, weekday), 0)
        said |= cells.get((day.month, _from_end(day), weekday), 0)
        if said != minutes:
            found.append(number)
    return found


def _boxes(cells: _Cells) -> Mapping[_Box, frozenset[int]]:
    """Put days together that are alike: those of a weekday, such weekdays, and such months."""
    days_of = grouped(
        ((minutes, month, weekday), day)
        for (month, day, weekday), minutes in cells.items()
        if minutes
    )
    # `monday` and `tuesday` of the same days are `monday:tuesday`.
    weekdays_of = grouped(
        ((minutes, month, _days_of(days, LONGEST_MONTHS[month])), weekday)
        for (minutes, month, weekday), days in days_of.items()
    )
    # And so are months: `1:11`.
    return grouped(
        ((minutes, _but_all(weekdays, 7), days), month)
        for (minutes, month, days), weekdays in weekdays_of.items()
    )


def _boxes_of(year: int, month: int, days: _Days) -> Iterator[_Box]:
    """Write a month of a year day by day; those that are alike together."""
    _, length = monthrange(year, month)
    before = date(year, month, 1).toordinal() - 1
    days_of = grouped((days[before + day], day) for day in range(1, length + 1))
    for minutes, alike in days_of.items():
        if minutes:
            yield minutes, (), _days_of(alike, length)


def _days_of(days: frozenset[int], length: int) -> Ranges:
    """Return days of a month as ranges; the end of a month is 31, which each of them is cut to."""
    # All days of the month: to name none is to name any.
    if len(days) == length:
        return ()
    *found, (first, last) = _ranges(days)
    return (*found, (first, _LAST_DAY if last == length else last))


def _years(years: frozenset[int]) -> Ranges:
    """Return years as ranges, with all that those at either end stand for."""
    return tuple(
        (FIRST_YEAR if first == _YEARS[0] else first, LAST_YEAR if last == _YEARS[-1] else last)
        for first, last in _but_all(years, len(_YEARS))
    )


def _but_all(numbers: Collection[int], count: int) -> Ranges:
    """Return numbers as ranges, none where all of so many are there."""
    return () if len(numbers) == count else _ranges(numbers)


def _ranges(numbers: Iterable[int]) -> Ranges:
    return tuple((run[0], run[-1]) for run in cron.runs(sorted(numbers)))
