"""A calendar as text: a week a line, two hours a character, then each open interval in full."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from krm_windows.gate import wallclock
from krm_windows.gate.decide import Segment
from krm_windows.preview.calendar import Calendar

CELL = timedelta(hours=2)
CELLS = 12
WEEK = 7
OPEN, PARTLY, CLOSED, OUTSIDE = "#", "+", ".", " "


def render(calendar: Calendar) -> str:
    """Return the page; every line ends in a newline."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(calendar))


def _lines(calendar: Calendar) -> Iterator[str]:
    first, last = (_local(calendar, at).date() for at in (calendar.begins, calendar.ends))
    name = f"{calendar.policy} on {calendar.cluster}" if calendar.cluster else calendar.policy
    yield f"{name}, {calendar.zone.key}, {first} to {last - timedelta(days=1)}"
    yield ""
    yield " ".join(["          ", *(f"{day:<{CELLS}}" for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"))])
    monday = first - timedelta(days=first.weekday())
    while monday < last:
        yield " ".join([str(monday), *(_day(calendar, monday + timedelta(days=day)) for day in range(WEEK))])
        monday += timedelta(days=WEEK)
    yield f"{OPEN} open  {PARTLY} partly  {CLOSED} closed, {CELL // timedelta(hours=1)} hours each"
    yield ""
    yield from _table(calendar)


def _day(calendar: Calendar, day: date) -> str:
    midnight = datetime.combine(day, time())
    return "".join(_cell(calendar, midnight + CELL * cell) for cell in range(CELLS))


def _cell(calendar: Calendar, wall: datetime) -> str:
    """Return the sign for one cell; one that a clock change swallows is closed."""
    begins, ends = (wallclock.instant(at, calendar.zone) for at in (wall, wall + CELL))
    if begins < calendar.begins or ends > calendar.ends:
        return OUTSIDE
    overlaps = (min(s.ends, ends) - max(s.begins, begins) for s in calendar.intervals if s.begins < ends)
    covered = sum((overlap for overlap in overlaps if overlap > timedelta()), timedelta())
    if not covered:
        return CLOSED
    return OPEN if covered == ends - begins else PARTLY


def _table(calendar: Calendar) -> Iterator[str]:
    if not calendar.intervals:
        yield "never open in these days"
        return
    yield f"{'opens':<22}{'closes':<22}{'open for':<12}by"
    for segment in calendar.intervals:
        opens, closes = _edge(calendar, segment.begins), _edge(calendar, segment.ends)
        yield f"{opens:<22}{closes:<22}{_span(segment):<12}{', '.join(segment.rules)}"


def _edge(calendar: Calendar, at: datetime) -> str:
    """Return an edge on the wall clock; one at the rim of the calendar is not an edge of the window."""
    inside = calendar.begins < at < calendar.ends
    return (
        f"{_local(calendar, at):%a %Y-%m-%d %H:%M}" if inside else ("(before)" if at == calendar.begins else "(after)")
    )


def _span(segment: Segment) -> str:
    minutes = (segment.ends - segment.begins) // timedelta(minutes=1)
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 m"


def _local(calendar: Calendar, at: datetime) -> datetime:
    return at.astimezone(calendar.zone)
