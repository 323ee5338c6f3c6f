"""The union of weekly windows, worked out over one week.

Minutes from Sunday 00:00 on, on the wall clock.
"""

from collections.abc import Iterable, Iterator
from datetime import time, timedelta
from typing import NamedTuple

from krm_windows.plan.grouping import grouped
from krm_windows.schedule import cron
from krm_windows.schedule.bits import DAY
from krm_windows.schedule.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence
from krm_windows.schedule.timetable import Rule

WEEK = 7 * DAY


class WeeklyEdges(NamedTuple):
    """The minutes of the week at which a union of windows opens, and those at which it closes."""

    opens: frozenset[int]
    closes: frozenset[int]

    @property
    def shortest(self) -> timedelta:
        """The shortest time between two edges, on the wall clock."""
        edges = sorted(self.opens | self.closes)
        # After the last edge of a week comes the first of the next.
        following = [*edges[1:], edges[0] + WEEK]
        gaps = (after - edge for edge, after in zip(edges, following, strict=True))
        return timedelta(minutes=min(gaps))


def is_weekly(rule: Rule) -> bool:
    """Whether a rule is the same every week, clock changes aside."""
    if not isinstance(rule.begins, Recurrence) or not by_weekday(rule.begins):
        return False
    # An end by duration or time of day follows its beginning, so it is as weekly as that.
    return not isinstance(rule.ends, Recurrence) or by_weekday(rule.ends)


def by_weekday(recurrence: Recurrence) -> bool:
    """Whether a recurrence is every week on all of its `weekdays`, and on no other day."""
    # Weekdays moved by a shift are weekly, too, but they are others than `weekdays` says. No policy
    # has such a recurrence: only an nth day of a month is shifted.
    every_day = recurrence.days == EVERY_DAY and recurrence.months == EVERY_MONTH
    return every_day and recurrence.nth is None and recurrence.shift == 0


def union(windows: Iterable[Rule]) -> WeeklyEdges:
    """Return the edges of the union of weekly windows; there are none where it is never closed."""
    # A byte for each minute of the week, 10,080 of them: slices fill them quicker than a loop does.
    is_open = bytearray(WEEK)
    for window in windows:
        for begin, end in occurrences(window):
            is_open[begin:end] = b"\1" * (min(end, WEEK) - begin)
            # What goes on after Saturday is open at the beginning of the same week.
            over = min(end - WEEK, WEEK)
            if over > 0:
                is_open[:over] = b"\1" * over
    # Before the first minute is the last one: a week follows a week. Index -1 is just that.
    changes = [minute for minute in range(WEEK) if is_open[minute] != is_open[minute - 1]]
    opens = frozenset(minute for minute in changes if is_open[minute])
    return WeeklyEdges(opens, frozenset(changes) - opens)


def occurrences(window: Rule) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of each occurrence of a weekly window.

    An end may be in the weeks after.
    """
    if not isinstance(window.begins, Recurrence):
        return
    closing: list[int] = []
    if isinstance(window.ends, Recurrence):
        closing = sorted(minutes(window.ends))
    for begin in sorted(minutes(window.begins)):
        match window.ends:
            case timedelta() as length:
                yield begin, begin + length // timedelta(minutes=1)
            case time() as clock:
                # The next such time after the beginning; at that time itself, a day later.
                clock_minute = clock.hour * 60 + clock.minute
                left = (clock_minute - begin) % DAY
                yield begin, begin + (left or DAY)
            case _:
                # No end left in this week: the first one of the next.
                later = (end for end in closing if end > begin)
                yield begin, next(later, closing[0] + WEEK)


def minutes(recurrence: Recurrence) -> frozenset[int]:
    """Return the minutes of the week of a weekly recurrence."""
    # With either day field, and all days of the month, every weekday is meant.
    days = EVERY_WEEKDAY if recurrence.either else recurrence.weekdays
    found: set[int] = set()
    for day in days:
        for hour in recurrence.hours:
            begins = day * DAY + hour * 60
            found.update(begins + minute for minute in recurrence.minutes)
    return frozenset(found)


def schedules(wanted: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the fewest schedules that fire at exactly these minutes of the week.

    Each has its first time of day.
    """
    # The weekdays of each time of day, then the minutes of each hour with the same weekdays, then
    # the hours with the same minutes and weekdays: what is left are schedules whose fields are
    # products of sets.
    weekdays_at = grouped((minute % DAY, minute // DAY) for minute in wanted)
    minutes_of = grouped(
        ((weekdays, clock // 60), clock % 60) for clock, weekdays in weekdays_at.items()
    )
    hours_of = grouped(
        ((weekdays, minutes_of_hour), hour)
        for (weekdays, hour), minutes_of_hour in minutes_of.items()
    )
    for (weekdays, minutes_of_hour), hours in hours_of.items():
        first = min(hours) * 60 + min(minutes_of_hour)
        minute_field = cron.field(minutes_of_hour, range(60))
        hour_field = cron.field(hours, range(24))
        weekday_field = cron.field(weekdays, range(7))
        yield first, f"{minute_field} {hour_field} * * {weekday_field}"
