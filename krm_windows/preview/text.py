"""Calendars as text: a week a line, two hours a character, then each open interval in full."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import islice, pairwise
from operator import attrgetter

from krm_windows.gate import wallclock
from krm_windows.preview import clock, exceptions
from krm_windows.preview.calendar import Calendar, alike, some
from krm_windows.preview.clock import shown
from krm_windows.schedule.timeline import Segment

# Twelve cells are a day, and a week with its date is a line of 101 characters.
CELL = timedelta(hours=2)
CELLS = 12
WEEK = 7
# Signs of ASCII, which every terminal has in one width.
OPEN = "#"
PARTLY = "+"
CLOSED = "."
SHUT = "x"
OUTSIDE = " "
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# The column of an edge: `Mon 2026-12-14 08:00` and two spaces.
_EDGE = 22
# So many names are listed before "and 12 more".
_FEW = 4
_DAY = timedelta(days=1)
_ends = attrgetter("ends")


def render(every: Sequence[Calendar]) -> str:
    """Return a page for all that are alike, with an empty line between two pages.

    Every line ends in a newline.
    """
    return "\n".join(map(_page, alike(every)))


def _page(group: Sequence[Calendar]) -> str:
    return "".join(f"{line.rstrip()}\n" for line in _lines(group))


def span(length: timedelta) -> str:
    """Say a length of time in short: `3 d 9 h`."""
    minutes = length // timedelta(minutes=1)
    parts = {
        "d": minutes // 1440,
        "h": minutes // 60 % 24,
        "m": minutes % 60,
    }
    return " ".join(f"{number} {unit}" for unit, number in parts.items() if number) or "0 m"


def _lines(group: Sequence[Calendar]) -> Iterator[str]:
    calendar = group[0]
    first, last = _days(calendar)
    closing = _closing(calendar)
    names = some([one.name for one in group], _FEW)
    yield f"{names}, {calendar.zone.key}, {first} to {last - _DAY}"
    yield ""
    heads = (f"{day:<{CELLS}}" for day in _WEEKDAYS)
    # As wide as the date at the beginning of each week.
    yield " ".join([" " * 10, *heads])
    # Weeks begin on Monday (ISO 8601).
    monday = first - first.weekday() * _DAY
    while monday < last:
        # By dates and not by hours: a day may have 23 or 25 of them.
        days = (_day(calendar, closing, monday + day * _DAY) for day in range(WEEK))
        yield " ".join([str(monday), *days])
        monday += WEEK * _DAY
    legend = f"{OPEN} open  {PARTLY} partly  {CLOSED} closed"
    if closing:
        legend += f"  {SHUT} closed by a freeze or an override"
    yield f"{legend}, {CELL // timedelta(hours=1)} hours each"
    yield ""
    yield from _changes(calendar)
    yield from _table(calendar)


def _days(calendar: Calendar) -> tuple[date, date]:
    """Return the first day, and the day after the last."""
    begins = calendar.begins.astimezone(calendar.zone)
    ends = calendar.ends.astimezone(calendar.zone)
    last = ends.date()
    # 24 hours from now end within a day, which is shown, too.
    if ends.time() > time():
        last += _DAY
    return begins.date(), last


def _closing(calendar: Calendar) -> list[exceptions.Span]:
    every = exceptions.spans(calendar.timetable, calendar.begins, calendar.ends)
    return [one for one in every if one.rule.state != "Open"]


def _day(
    calendar: Calendar,
    closing: Sequence[exceptions.Span],
    day: date,
) -> str:
    cells = pairwise(_edges(calendar.zone, day))
    return "".join(_cell(calendar, closing, *cell) for cell in cells)


@cache
def _edges(zone: tzinfo, day: date) -> list[datetime]:
    """Return the instants between which the signs of a day lie."""
    # By the wall clock: on the day of a clock change a cell may be shorter or longer.
    midnight = datetime.combine(day, time())
    return [wallclock.instant(midnight + CELL * cell, zone) for cell in range(CELLS + 1)]


def _cell(
    calendar: Calendar,
    closing: Sequence[exceptions.Span],
    begins: datetime,
    ends: datetime,
) -> str:
    """Return the sign for the time between two instants.

    What a clock change leaves empty is closed.
    """
    # A cell is drawn only where all of it is known.
    if begins < calendar.begins or ends > calendar.ends:
        return OUTSIDE
    covered = _covered(calendar, begins, ends)
    if covered and covered == ends - begins:
        return OPEN
    if covered:
        return PARTLY
    if any(one.begins < ends and one.ends > begins for one in closing):
        return SHUT
    return CLOSED


def _covered(
    calendar: Calendar,
    begins: datetime,
    ends: datetime,
) -> timedelta:
    """Return how much of an interval is open."""
    covered = timedelta()
    # The intervals are in order, and a year has thousands of cells: begin at the first that
    # matters.
    nearest = bisect_right(calendar.intervals, begins, key=_ends)
    for segment in islice(calendar.intervals, nearest, None):
        if segment.begins >= ends:
            break
        covered += min(segment.ends, ends) - max(segment.begins, begins)
    return covered


def _changes(calendar: Calendar) -> Iterator[str]:
    """Yield a line for each clock change, and an empty one below them."""
    found = clock.changes(calendar.zone, calendar.begins, calendar.ends)
    for change in found:
        yield clock.words(change, calendar.zone)
    if found:
        yield ""


def _table(calendar: Calendar) -> Iterator[str]:
    if not calendar.intervals:
        yield "never open in these days"
        return
    yield f"{'opens':<{_EDGE}}{'closes':<{_EDGE}}{'open for':<12}by"
    for segment in calendar.intervals:
        yield _row(calendar, segment)


def _row(calendar: Calendar, segment: Segment) -> str:
    """Return the line of an interval.

    Where it meets the rim of the calendar is no edge of a window.
    """
    opens, closes = "(before)", "(after)"
    if segment.begins > calendar.begins:
        opens = shown(segment.begins, calendar.zone)
    if segment.ends < calendar.ends:
        closes = shown(segment.ends, calendar.zone)
    length = span(segment.ends - segment.begins)
    return f"{opens:<{_EDGE - 1}} {closes:<{_EDGE - 1}} {length:<11} {', '.join(segment.rules)}"
