"""A month on one sheet for a wall: weeks from Monday on, and each day with its open hours."""

from calendar import monthcalendar, monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from krm_windows.preview import clock, exceptions
from krm_windows.preview.calendar import Calendar, Period, calendars
from krm_windows.preview.exceptions import RuleInForce


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a month: from when to when it is open, and the freezes and overrides that touch it.

    Hours are those of the clock in short, of a whole day 00 and 24.
    """

    number: int
    hours: tuple[tuple[str, str], ...]
    exceptions: tuple[RuleInForce, ...]


def weeks(calendar: Calendar) -> list[list[Day | None]]:
    """Return the weeks of the month whose days a calendar has; None for days of other months."""
    first = calendar.begins.astimezone(calendar.zone).date()
    # Of a day on which they move no hour, overrides are no news.
    [plain] = calendars([calendar.timetable._replace(overrides=())], Period(first, 31))
    days = {
        day.number: day if day.hours != other.hours else other
        for day, other in zip(_days(calendar, first), _days(plain, first), strict=True)
    }
    return [list(map(days.get, week)) for week in monthcalendar(first.year, first.month)]


def _days(calendar: Calendar, first: date) -> Iterator[Day]:
    rules = exceptions.spans(calendar.timetable, calendar.begins, calendar.ends)
    for number in range(monthrange(first.year, first.month)[1]):
        begins, ends = Period(first + timedelta(days=number), 1).bounds(calendar.zone)
        hours = (
            clock.edges(
                max(each.begins, begins).astimezone(calendar.zone),
                min(each.ends, ends).astimezone(calendar.zone),
            )
            for each in calendar.intervals
            if each.begins < ends and begins < each.ends
        )
        touching = (each for each in rules if each.begins < ends and begins < each.ends)
        yield Day(number + 1, tuple(hours), tuple(touching))
