"""Calendars as text: a week a line, some hours a character, then each open interval in full."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from operator import attrgetter

from krm_windows import escape
from krm_windows.plurals import some
from krm_windows.preview import clock
from krm_windows.preview.calendar import Calendar, alike, titles
from krm_windows.preview.clock import shown, span
from krm_windows.preview.picture import Fact, Row, draw
from krm_windows.preview.wrapping import wrapped
from krm_windows.schedule import wallclock

WIDTH = 101
"""Columns of a week of twelve cells a day, with its date."""
# The hours of a cell, and the scale of a day of such cells, the finest first.
_SCALES = {
    2: "0  6  12 18",
    3: "0   12",
    4: "0  12",
    6: "0 12",
}
# Signs of ASCII, which every terminal has in one width.
OPEN = "#"
PARTLY = "+"
CLOSED = "."
SHUT = "x"
OUTSIDE = " "
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATE = len("2026-12-14")
# So many names are listed before "and 12 more".
_FEW = 4
_DAY = timedelta(days=1)
_begins, _ends = attrgetter("begins"), attrgetter("ends")


def render(
    every: Sequence[Calendar],
    width: int = WIDTH,
    now: datetime | None = None,
) -> str:
    """Return a page for all that are alike, with an empty line between two pages.

    Every line ends in a newline. The weeks are as wide as fits into `width` columns, and a mark
    says where `now` is.
    """
    pages = zip(alike(every), draw(every).rows, strict=True)
    return wrapped("\n".join(_page(group, row, width, now) for group, row in pages), width)


def _page(group: Sequence[Calendar], row: Row, width: int, now: datetime | None) -> str:
    return "".join(f"{line.rstrip()}\n" for line in _lines(group, row, width, now))


def _lines(group: Sequence[Calendar], row: Row, width: int, now: datetime | None) -> Iterator[str]:
    calendar, zone = group[0], row.zone
    # The coarsest where no week fits.
    fitting = (each for each in _SCALES if _DATE + 7 * (24 // each + 1) <= width)
    hours = next(fitting, max(_SCALES))
    first, last = row.days
    names = some([escape.line(each) for each in titles(group)], _FEW)
    yield f"{names}, {zone.key}, {clock.days(first, last)}"
    yield from map(escape.line, row.gated)
    yield ""
    for head in (_WEEKDAYS, [_SCALES[hours]] * 7):
        cells = (f"{day:<{24 // hours}}" for day in head)
        yield " ".join([" " * _DATE, *cells]).rstrip()
    closing = [fact for fact in row.facts if fact.kind in ("freeze", "override-closed")]
    # Weeks begin on Monday (ISO 8601).
    for number in range(first.toordinal() - first.weekday(), last.toordinal() + 1, 7):
        # By dates and not by hours: a day may have 23 or 25 of them.
        days = (_day(calendar, closing, date.fromordinal(number + day), hours) for day in range(7))
        yield " ".join([str(date.fromordinal(number)), *days])
        # Below the cell of now, if it is in this week.
        local = None if now is None else now.astimezone(zone)
        if local is not None and number <= local.toordinal() < number + 7:
            before = (local.toordinal() - number) * (24 // hours + 1) + local.hour // hours
            right = f"{' ' * (_DATE + 1 + before)}^ now"
            yield right if len(right) <= width else f"{'now ^':>{_DATE + 2 + before}}"
    legend = f"{OPEN} open  {PARTLY} partly  {CLOSED} closed"
    if closing:
        legend += f"  {SHUT} closed by a freeze or an override"
    yield f"{legend}, {hours} hours each"
    yield ""
    if facts := [row.words(fact) for fact in row.facts if fact in closing or fact.kind == "clock"]:
        yield from (*map(escape.line, facts), "")
    if not calendar.intervals:
        yield "never open on these days"
        return
    rows = [_cells(row, fact) for fact in row.facts if fact.kind in ("open", "often")]
    yield from aligned(["opens", "closes", "open for", "by"], rows)


def _day(calendar: Calendar, closing: Sequence[Fact], day: date, hours: int) -> str:
    edges = _edges(calendar.zone, day, hours)
    return "".join(_sign(calendar, closing, *cell) for cell in pairwise(edges))


def _edges(zone: tzinfo, day: date, hours: int) -> list[datetime]:
    """Return the instants between which the signs of a day are."""
    # By the wall clock: on the day of a clock change a cell may be shorter or longer.
    midnight = datetime.combine(day, time())
    starts = [midnight + timedelta(hours=hour) for hour in range(0, 25, hours)]
    return [wallclock.instant(start, zone) for start in starts]


def _sign(calendar: Calendar, closing: Sequence[Fact], begins: datetime, ends: datetime) -> str:
    """Return the sign for the time between two instants.

    What a clock change leaves empty is closed.
    """
    # A cell is drawn only where all of it is known.
    if begins < calendar.begins or ends > calendar.ends:
        return OUTSIDE
    # A year has thousands of cells, and of intervals, which are in order.
    first = bisect_right(calendar.intervals, begins, key=_ends)
    behind = bisect_left(calendar.intervals, ends, key=_begins)
    within = calendar.intervals[first:behind]
    covered = sum((min(one.ends, ends) - max(one.begins, begins) for one in within), timedelta())
    if covered:
        return OPEN if covered == ends - begins else PARTLY
    if any(one.begins < ends and one.ends > begins for one in closing):
        return SHUT
    return CLOSED


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, with columns as wide as what is in them."""
    widths = [max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        # Of the last column lines have no blanks at their end.
        yield "".join(map(str.ljust, row, widths)).rstrip()


def _cells(row: Row, fact: Fact) -> tuple[str, str, str, str]:
    """Return the cells of what was open; a rim of the days is no edge of a window."""
    opens = "(before)" if fact.goes_back else shown(fact.begins, row.zone)
    closes = "(after)" if fact.goes_on else shown(fact.ends, row.zone)
    return opens, closes, span(fact.length), f"{', '.join(fact.rules)}{fact.often}"
