"""Calendars as a picture of SVG: what the page of HTML shows.

A title on each part says its facts in words.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pkgutil import get_data

from krm_windows.preview import markup, merged_bars
from krm_windows.preview.bands import Band, Quiet, Tick
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown
from krm_windows.preview.markup import Element, element
from krm_windows.preview.picture import KINDS, Fact, Picture, Row, draw

# In pixels; a viewer scales the whole.
WIDTH = 960
# Names on the left, and the tracks beside them.
NAMES = 200
MARGIN = 12
TRACK = WIDTH - NAMES - MARGIN
# Heights: of the title with the legend, of an axis, of what results, of what was asked for.
_TITLE = 34
_LINE = 18
_MONTH = 26
_AXIS = 34
_QUIET = 26
_LANE = 26
_OTHER_LANE = 17
_GAP = 3
# The mean width of a character of the labels, and how many of a name's fit beside the tracks.
_CHARACTER = 7
_FULL_NAME = 24
_FULL_LINE = 130
_FULL_TITLE = 80
# What is a line in the legend, and what has a colour alone.
_LINES = ("clock", "now")
_PLAIN = ("open", "weekend")


def render(every: Sequence[Calendar], now: datetime | None = None) -> str:
    """Return the picture, with a mark at `now` if it is among the days."""
    picture = draw(every, now)
    head, y = _head(picture)
    drawn, height = _parts(picture, y)
    # In the file itself, as a picture in a README can load nothing beside it.
    style = get_data(__package__ or "", "assets/calendar.svg.css") or b""
    root = element(
        "svg",
        element("title", picture.title),
        element("style", style.decode()),
        patterns(),
        element("rect", class_="paper", width="100%", height="100%"),
        *head,
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        # A viewBox lets whoever embeds the picture scale it.
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
    )
    return markup.xml(root)


def _head(picture: Picture) -> tuple[list[Element], int]:
    """Return the title, what all rows have in common, and the legend; and the height of all."""
    zone = f"Days and hours are in {picture.zone.key}."
    if picture.now is not None:
        zone += f" Now it is {shown(picture.now, picture.zone)}."
    lines = [zone]
    if picture.gates:
        lines.append(f"Gates {picture.gates}.")
    title = _short(picture.title, _FULL_TITLE)
    drawn = [element("text", title, class_="title", x=MARGIN, y=24)]
    y = _TITLE
    for line in lines:
        full = element("title", line)
        drawn.append(element("text", _short(line, _FULL_LINE), full, x=MARGIN, y=y + 12))
        y += _LINE
    legend, y = _legend(picture, y)
    return [*drawn, *legend], y


def _short(words: str, length: int) -> str:
    if len(words) <= length:
        return words
    return f"{words[: length - 1]}\N{HORIZONTAL ELLIPSIS}"


def patterns() -> Element:
    """Return what shapes are filled with, by their kind."""
    # Patterns repeat: each line is drawn beyond the edges, so that it meets itself in the next
    # tile.
    stripes = element("path", d="M-2 2 4 -4M-1 9 9 -1M4 10 10 4", class_="freeze-ink")
    dots = element("circle", cx=3, cy=3, r=1, class_="opens-ink")
    cross = element("path", d="M0 0 6 6M6 0 0 6", class_="closes-ink")
    bars = element("path", d="M1.5 0V6", class_="often-ink")
    sizes = (
        ("often", 6, bars),
        ("freeze", 8, stripes),
        ("override-open", 6, dots),
        ("override-closed", 6, cross),
    )
    made = (_pattern(kind, size, ink) for kind, size, ink in sizes)
    return element("defs", *made)


def _pattern(kind: str, size: int, ink: Element) -> Element:
    paper = element("rect", width=size, height=size, class_=f"{kind}-paper")
    return element(
        "pattern",
        paper,
        ink,
        id=kind,
        width=size,
        height=size,
        patternUnits="userSpaceOnUse",
    )


def _legend(picture: Picture, y: int) -> tuple[list[Element], int]:
    """Return what colours and patterns mean from `y` on, and where that ends."""
    drawn: list[Element] = []
    x = float(MARGIN)
    shapes = {**KINDS, "weekend": "weekend"}
    if picture.now is not None:
        shapes["now"] = "now"
    for kind, words in shapes.items():
        # By the length of the words: a text that is not drawn yet has no width.
        width = 42 + _CHARACTER * len(words)
        if x + width > WIDTH:
            x = float(MARGIN)
            y += _LINE
        drawn.append(_shape(kind, x, y, 22, 13))
        drawn.append(element("text", words, x=x + 28, y=y + 11))
        x += width
    return drawn, y + _LINE


def _parts(picture: Picture, y: int) -> tuple[list[Element], int]:
    """Return bands and quiet weeks, one below the other from `y` on, and the height of all."""
    drawn: list[Element] = []
    # SVG has no layout: everything is placed by its distance from the top.
    for month, part in picture.months():
        if month:
            drawn.append(element("text", month, class_="month", x=MARGIN, y=y + 24))
            y += _MONTH
        if isinstance(part, Quiet):
            drawn.append(_quiet(part, y))
            y += _QUIET
            continue
        band, y = _band(picture, part, y)
        drawn += band
    return drawn, y + MARGIN


def _quiet(weeks: Quiet, y: int) -> Element:
    full = element("title", weeks.words)
    line = _short(weeks.words, _FULL_LINE)
    return element("text", line, full, class_="unchanged", x=MARGIN, y=y + 18)


def _band(picture: Picture, band: Band, y: int) -> tuple[list[Element], int]:
    """Return the axis and the rows from `y` on, and where they end."""
    drawn = [_weekend(place, y, _AXIS) for place in _weekends(band)]
    drawn += [_tick(tick, band, y) for tick in band.ticks if tick.label]
    y += _AXIS
    for row in picture.rows:
        height = _LANE + _OTHER_LANE * row.lanes_in(band)
        drawn += _row(picture, row, band, y, height)
        y += height + _GAP
    return drawn, y


def _weekends(band: Band) -> Iterator[tuple[float, float]]:
    for interval in band.weekends:
        place = band.place(*interval)
        if place is not None:
            yield place


def _weekend(
    place: tuple[float, float],
    y: int,
    height: int,
) -> Element:
    left, width = place
    return element("rect", class_="weekend", x=_x(left), y=y, width=_length(width), height=height)


def _tick(tick: Tick, band: Band, y: int) -> Element:
    x = _x(band.left(tick.at)) + 2
    classes = "tick"
    if tick.major:
        classes = "tick major"
    return element(
        "text",
        element("tspan", tick.weekday, x=x, y=y + 16),
        element("tspan", tick.label, x=x, y=y + 29),
        class_=classes,
    )


def _row(
    picture: Picture,
    row: Row,
    band: Band,
    y: int,
    height: int,
) -> Iterator[Element]:
    yield from _name(picture, row, y)
    # The row's own days may begin later than the axis, which has those of all rows.
    left, width = band.place(row.begins, row.ends) or (0, 0)
    yield element("rect", class_="track", x=_x(left), y=y, width=_length(width), height=height)
    for weekend in _weekends(band):
        yield _weekend(weekend, y, height)
    for tick in band.ticks:
        kind = "line"
        if tick.major:
            kind = "major-line"
        yield _line(kind, band.left(tick.at), y, height)
    for _, fact in merged_bars.bars(row, band):
        place = band.place(fact.begins, fact.ends)
        if place:
            left, width = place
            words = element("title", row.hover(fact))
            shapes = _fact(fact, _x(left), _length(width), y, height)
            yield element("g", words, *shapes)
    if picture.now is not None and band.begins <= picture.now < band.ends:
        words = element("title", f"now: {shown(picture.now, row.zone)} ({row.zone.key})")
        yield element("g", words, _line("now", band.left(picture.now), y, height))


def _name(picture: Picture, row: Row, y: int) -> Iterator[Element]:
    """Yield a row's name, and its zone where the axis has another."""
    # The title that a pointer shows has all names, however few fit.
    said = [f"{', '.join(row.names)} ({row.zone.key})", *row.gated()]
    full = element("title", "; ".join(said))
    baseline = y + 17
    if row.zone != picture.zone:
        baseline = y + 11
        yield element("text", row.zone.key, class_="zone", x=MARGIN, y=y + 23)
    title = _short(row.title, _FULL_NAME)
    yield element("text", title, full, class_="name", x=MARGIN, y=baseline)


def _line(kind: str, left: float, y: int, height: int) -> Element:
    x = _x(left)
    return element("line", class_=kind, x1=x, x2=x, y1=y, y2=y + height)


def _fact(
    fact: Fact,
    x: float,
    width: float,
    y: int,
    height: int,
) -> list[Element]:
    if fact.kind == "clock":
        line = element("line", class_="clock", x1=x, x2=x, y1=y, y2=y + height)
        label = element("text", fact.label, class_="clock-label", x=x + 3, y=y + 9)
        return [line, label]
    top = y + 2
    tall = _LANE - 4
    if fact.lane:
        top = y + _LANE + _OTHER_LANE * (fact.lane - 1)
        tall = _OTHER_LANE - 2
    # Two pixels at least, so that a short window in a long band is seen.
    bar = _shape(fact.kind, x, top, max(width, 2), tall)
    length = _CHARACTER * len(fact.label) + 6
    # What does not fit would run over the next bar; the title says it all the same.
    if length >= width:
        return [bar]
    baseline = top + tall / 2 + 4
    if fact.kind == "open":
        label = element("text", fact.label, class_="on-open", x=x + 5, y=baseline)
        return [bar, label]
    # Nobody could read it on a pattern.
    paper = element("rect", class_="paper", x=x + 2, y=top + 1, width=length, height=tall - 2)
    label = element("text", fact.label, class_="label", x=x + 5, y=baseline)
    return [bar, paper, label]


def _shape(
    kind: str,
    x: float,
    y: float,
    width: float,
    height: float,
) -> Element:
    if kind in _LINES:
        return element("line", class_=kind, x1=x + 8, x2=x + 8, y1=y, y2=y + height)
    # All but what is open are drawn with a pattern, so that colour is not all that identifies them.
    fill: str | None = f"url(#{kind})"
    if kind in _PLAIN:
        fill = None
    return element("rect", class_=kind, fill=fill, x=x, y=y, width=width, height=height, rx=2)


def _x(fraction: float) -> float:
    # Hundredths of a pixel are finer than any screen, and keep the file small.
    return round(NAMES + TRACK * fraction, 2)


def _length(fraction: float) -> float:
    return round(TRACK * fraction, 2)
