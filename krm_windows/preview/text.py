"""Calendars as text: a week a line, some hours a character, then each open interval in full."""

import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from functools import cache
from itertools import islice, pairwise
from operator import attrgetter

from krm_windows import escape
from krm_windows.plurals import some
from krm_windows.preview import clock, exceptions
from krm_windows.preview.calendar import Calendar, alike, gated, titles
from krm_windows.preview.clock import shown
from krm_windows.preview.folding import Run, S, fold
from krm_windows.schedule import wallclock
from krm_windows.schedule.timeline import Segment

WEEK = 7
WIDTH = 101
"""Columns of a week of twelve cells a day, with its date."""
# The hours of a cell, and the scale of a day of such cells, the finest first.
_SCALES = {
    2: "0  6  12 18",
    3: "0   12",
    4: "0  12",
    6: "0 12",
}
# Columns of a table with dates and lengths in full, and a name of some letters.
_FULL = 72
# Signs of ASCII, which every terminal has in one width.
OPEN = "#"
PARTLY = "+"
CLOSED = "."
SHUT = "x"
OUTSIDE = " "
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# The column of an edge: `Mon 2026-12-14 08:00` and two spaces.
_EDGE = 22
# `open for`, and `3 d 23 h`.
_LENGTH = 12
# So many names are listed before "and 12 more".
_FEW = 4
_DAY = timedelta(days=1)
_ends = attrgetter("ends")


def render(
    every: Sequence[Calendar],
    width: int = WIDTH,
    now: datetime | None = None,
) -> str:
    """Return a page for all that are alike, with an empty line between two pages.

    Every line ends in a newline. The weeks are as wide as fits into `width` columns, and a mark
    says where `now` is.
    """
    return "\n".join(_page(group, width, now) for group in alike(every))


def _page(
    group: Sequence[Calendar],
    width: int,
    now: datetime | None,
) -> str:
    return "".join(f"{line.rstrip()}\n" for line in _lines(group, width, now))


def recurring(run: Run[S]) -> str:
    """Say how often something recurs: `, every 10 m, 1,008 times`; nothing of what does not."""
    if not run.is_folded:
        return ""
    return f", every {span(run.step)}, {run.count:,} times"


def span(length: timedelta) -> str:
    """Say a length of time in short: `3 d 9 h`."""
    minutes = length // timedelta(minutes=1)
    parts = {
        "d": minutes // 1440,
        "h": minutes // 60 % 24,
        "m": minutes % 60,
    }
    return " ".join(f"{number} {unit}" for unit, number in parts.items() if number) or "0 m"


def _hours(width: int) -> int:
    """Return the hours of a cell with which a week fits; the coarsest where none does."""
    for hours in _SCALES:
        # A date, and seven days with a blank before each.
        if len("2026-12-14") + WEEK * (24 // hours + 1) <= width:
            return hours
    return max(_SCALES)


def _lines(
    group: Sequence[Calendar],
    width: int,
    now: datetime | None,
) -> Iterator[str]:
    calendar = group[0]
    hours = _hours(width)
    first, last = _days(calendar)
    closing = _closing(calendar)
    names = some([escape.line(each) for each in titles(group)], _FEW)
    heading = f"{names}, {calendar.zone.key}, {clock.days(first, last - _DAY)}"
    yield from textwrap.wrap(heading, width, break_long_words=False, break_on_hyphens=False)
    yield from _gated(group, width)
    yield ""
    for head in (_WEEKDAYS, [_SCALES[hours]] * WEEK):
        cells = (f"{day:<{24 // hours}}" for day in head)
        # As wide as the date at the beginning of each week.
        yield " ".join([" " * 10, *cells])
    # Weeks begin on Monday (ISO 8601).
    monday = first - first.weekday() * _DAY
    while monday < last:
        # By dates and not by hours: a day may have 23 or 25 of them.
        days = (_day(calendar, closing, monday + day * _DAY, hours) for day in range(WEEK))
        yield " ".join([str(monday), *days])
        yield from _mark(calendar, monday, hours, now)
        monday += WEEK * _DAY
    legend = f"{OPEN} open  {PARTLY} partly  {CLOSED} closed"
    if closing:
        legend += f"  {SHUT} closed by a freeze or an override"
    yield from textwrap.wrap(f"{legend}, {hours} hours each", width, replace_whitespace=False)
    yield ""
    yield from _changes(calendar)
    yield from _table(calendar, width)


def _gated(group: Sequence[Calendar], width: int) -> Iterator[str]:
    """Yield what is gated, where the calendars that are alike gate the same."""
    targets = gated(group)
    if not targets:
        return
    named = some([escape.line(str(target)) for target in targets], _FEW)
    # A line goes on below the first word. A line end in a name must not be where it does.
    yield from textwrap.wrap(
        f"gates {named}",
        width,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _mark(
    calendar: Calendar,
    monday: date,
    hours: int,
    now: datetime | None,
) -> Iterator[str]:
    """Yield the line below a week that points to the cell of now, if it is in this week."""
    if now is None:
        return
    local = now.astimezone(calendar.zone)
    day = (local.date() - monday).days
    if not 0 <= day < WEEK:
        return
    column = len(str(monday)) + 1 + day * (24 // hours + 1) + local.hour // hours
    yield f"{' ' * column}^ now"


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
    hours: int,
) -> str:
    cells = pairwise(_edges(calendar.zone, day, hours))
    return "".join(_cell(calendar, closing, *cell) for cell in cells)


@cache
def _edges(
    zone: tzinfo,
    day: date,
    hours: int,
) -> list[datetime]:
    """Return the instants between which the signs of a day are."""
    # By the wall clock: on the day of a clock change a cell may be shorter or longer.
    midnight = datetime.combine(day, time())
    starts = [midnight + timedelta(hours=hour) for hour in range(0, 25, hours)]
    return [wallclock.instant(start, zone) for start in starts]


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


def _table(calendar: Calendar, width: int) -> Iterator[str]:
    if not calendar.intervals:
        yield "never open on these days"
        return
    rows = [_row(calendar, run) for run in fold(calendar.intervals)]
    if is_narrow(width):
        for row in rows:
            yield from block(row)
        return
    yield from aligned(["opens", "closes", "open for", "by"], rows)


def is_narrow(width: int) -> bool:
    """Whether a table of instants and lengths does not fit so many columns."""
    return width < _FULL


def block(row: Sequence[str]) -> tuple[str, str]:
    """Return a row of such a table in two lines."""
    begins, ends, length, words = row
    return f"{begins} to {ends}", f"    {length}, {words}"


def aligned(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    # Of a table of two instants, a length of time, and words.
    least: Sequence[int] = (_EDGE, _EDGE, _LENGTH, 0),
) -> Iterator[str]:
    """Yield the lines of a table, with columns as wide as what is in them, and at `least` so."""
    widths = [max(map(len, column)) + 2 for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        # Of the last column lines have no blanks at their end.
        padded = map(str.ljust, row, map(max, widths, least))
        yield "".join(padded).rstrip()


def _row(calendar: Calendar, run: Run[Segment]) -> tuple[str, str, str, str]:
    """Return the cells of an interval, or of many that recur.

    Where it goes on beyond the rim of the calendar is no edge of a window.
    """
    opens, closes = "(before)", "(after)"
    if run.first.begins > calendar.begins or not calendar.is_open_before:
        opens = shown(run.first.begins, calendar.zone)
    if run.last.ends < calendar.ends or not calendar.is_open_after:
        closes = shown(run.last.ends, calendar.zone)
    length = span(run.first.ends - run.first.begins)
    return opens, closes, length, f"{', '.join(run.first.rules)}{recurring(run)}"
