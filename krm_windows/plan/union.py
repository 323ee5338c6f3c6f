"""The union of weekly windows, worked out over one week: minutes from Sunday 00:00 on, on the wall clock."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import time, timedelta

from krm_windows.gate.recurrence import EVERY_DAY, EVERY_MONTH, EVERY_WEEKDAY, Recurrence
from krm_windows.gate.timetable import Rule
from krm_windows.plan.covering import DAY, field

WEEK = 7 * DAY


@dataclass(frozen=True, slots=True)
class Union:
    """The minutes of the week at which the union of some windows opens, and those at which it closes."""

    opens: frozenset[int]
    closes: frozenset[int]

    @property
    def shortest(self) -> timedelta:
        """The shortest time between two edges, on the wall clock."""
        edges = sorted(self.opens | self.closes)
        following = [*edges[1:], edges[0] + WEEK]
        return timedelta(
            minutes=min(after - edge for edge, after in zip(edges, following, strict=True))
        )


def is_weekly(rule: Rule) -> bool:
    """Whether a rule is the same every week, clock changes aside."""
    ends_weekly = not isinstance(rule.ends, Recurrence) or _by_weekday(rule.ends)
    return isinstance(rule.begins, Recurrence) and _by_weekday(rule.begins) and ends_weekly


def _by_weekday(recurrence: Recurrence) -> bool:
    every_day = recurrence.days == EVERY_DAY and recurrence.months == EVERY_MONTH
    return every_day and recurrence.nth is None and recurrence.shift == 0


def union(windows: Iterable[Rule]) -> Union:
    """Return the edges of the union of weekly windows; there are none where it is never closed."""
    is_open = bytearray(WEEK)
    for begin, end in (occurrence for window in windows for occurrence in occurrences(window)):
        is_open[begin:end] = b"\1" * (min(end, WEEK) - begin)
        over = min(end - WEEK, WEEK)
        if over > 0:
            is_open[:over] = b"\1" * over
    changes = [minute for minute in range(WEEK) if is_open[minute] != is_open[minute - 1]]
    opens = frozenset(minute for minute in changes if is_open[minute])
    return Union(opens, frozenset(changes) - opens)


def occurrences(window: Rule) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of each occurrence of a weekly window; an end may lie in the weeks after."""
    closing = sorted(minutes(window.ends)) if isinstance(window.ends, Recurrence) else []
    for begin in sorted(minutes(window.begins)) if isinstance(window.begins, Recurrence) else ():
        match window.ends:
            case timedelta() as length:
                yield begin, begin + length // timedelta(minutes=1)
            case time() as clock:
                yield begin, begin + ((clock.hour * 60 + clock.minute - begin) % DAY or DAY)
            case _:
                yield begin, next((end for end in closing if end > begin), closing[0] + WEEK)


def minutes(recurrence: Recurrence) -> frozenset[int]:
    """Return the minutes of the week of a weekly recurrence."""
    days = EVERY_WEEKDAY if recurrence.either else recurrence.weekdays
    return frozenset(
        day * DAY + hour * 60 + minute
        for day in days
        for hour in recurrence.hours
        for minute in recurrence.minutes
    )


def schedules(wanted: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Yield the fewest schedules that fire at exactly these minutes of the week, each with its first time of day."""
    days: dict[int, set[int]] = {}
    for minute in wanted:
        days.setdefault(minute % DAY, set()).add(minute // DAY)
    hours: dict[tuple[frozenset[int], int], set[int]] = {}
    for clock, of_week in days.items():
        hours.setdefault((frozenset(of_week), clock // 60), set()).add(clock % 60)
    blocks: dict[tuple[frozenset[int], frozenset[int]], set[int]] = {}
    for (weekdays, hour), of_hour in hours.items():
        blocks.setdefault((weekdays, frozenset(of_hour)), set()).add(hour)
    for (weekdays, past), at in blocks.items():
        fields = (field(past, range(60)), field(at, range(24)), "*", "*", field(weekdays, range(7)))
        yield min(at) * 60 + min(past), " ".join(fields)
