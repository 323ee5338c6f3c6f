"""Calendars as a picture of SVG: what the page of HTML shows.

A title on each part says its facts in words.
"""

from collections.abc import Iterator, Sequence
from pkgutil import get_data

from krm_windows.preview import markup, merged_bars
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.markup import Element, element
from krm_windows.preview.picture import KINDS, Band, Fact, Picture, Row, Tick, draw

# In pixels; a viewer scales the whole.
WIDTH = 1200
# Names on the left, and the tracks beside them.
NAMES = 220
MARGIN = 12
TRACK = WIDTH - NAMES - MARGIN
# Heights: of the title with the legend, of an axis, of what results, of what was asked for.
_TITLE = 64
_AXIS = 34
_LANE = 26
_OTHER_LANE = 17
_GAP = 3
# The mean width of a character of the labels, and how many of a name's fit beside the tracks.
_CHARACTER = 7
_FULL_NAME = 27


def render(every: Sequence[Calendar]) -> str:
    """Return the picture."""
    picture = draw(every)
    drawn, height = _bands(picture)
    # In the file itself, as a picture in a README can load nothing beside it.
    style = get_data(__package__ or "", "assets/calendar.svg.css") or b""
    root = element(
        "svg",
        element("title", picture.title),
        element("style", style.decode()),
        patterns(),
        element("rect", class_="paper", width="100%", height="100%"),
        element("text", picture.title, class_="title", x=MARGIN, y=24),
        *_legend(),
        *drawn,
        xmlns="http://www.w3.org/2000/svg",
        # A viewBox lets whoever embeds the picture scale it.
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
    )
    return markup.xml(root)


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


def _legend() -> Iterator[Element]:
    x = float(MARGIN)
    for kind, words in KINDS.items():
        yield _shape(kind, x, 38, 22, 13)
        yield element("text", words, x=x + 28, y=49)
        # By the length of the words: a text that is not drawn yet has no width.
        x += 48 + _CHARACTER * len(words)


def _bands(picture: Picture) -> tuple[list[Element], int]:
    """Return the bands, one below the other, and the height of all."""
    drawn: list[Element] = []
    # SVG has no layout: everything is placed by its distance from the top.
    y = _TITLE
    for band in picture.bands:
        drawn.append(element("text", band.title, class_="band", x=MARGIN, y=y + 24))
        drawn += (_tick(tick, band, y) for tick in band.ticks if tick.label)
        y += _AXIS
        for row in picture.rows:
            height = _LANE + _OTHER_LANE * row.lanes_in(band)
            drawn += _row(row, band, y, height)
            y += height + _GAP
        y += MARGIN
    return drawn, y


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
    row: Row,
    band: Band,
    y: int,
    height: int,
) -> Iterator[Element]:
    title = row.title
    if len(title) > _FULL_NAME:
        title = f"{title[: _FULL_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
    # The title that a pointer shows has all names, however few fit.
    names = element("title", ", ".join(row.names))
    yield element("text", title, names, class_="name", x=MARGIN, y=y + 17)
    # The row's own days may begin later than the axis, which has those of all rows.
    left, width = band.place(row.begins, row.ends) or (0, 0)
    yield element("rect", class_="track", x=_x(left), y=y, width=_length(width), height=height)
    for tick in band.ticks:
        x = _x(band.left(tick.at))
        kind = "line"
        if tick.major:
            kind = "major-line"
        yield element("line", class_=kind, x1=x, x2=x, y1=y, y2=y + height)
    for _, fact in merged_bars.bars(row, band):
        place = band.place(fact.begins, fact.ends)
        if place:
            left, width = place
            yield _fact(fact, _x(left), _length(width), y, height)


def _fact(
    fact: Fact,
    x: float,
    width: float,
    y: int,
    height: int,
) -> Element:
    words = element("title", fact.words)
    if fact.kind == "clock":
        line = element("line", class_="clock", x1=x, x2=x, y1=y, y2=y + height)
        label = element("text", fact.label, class_="clock-label", x=x + 3, y=y + 9)
        return element("g", words, line, label)
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
        return element("g", words, bar)
    baseline = top + tall / 2 + 4
    if fact.kind == "open":
        label = element("text", fact.label, class_="on-open", x=x + 5, y=baseline)
        return element("g", words, bar, label)
    # Nobody could read it on a pattern.
    paper = element("rect", class_="paper", x=x + 2, y=top + 1, width=length, height=tall - 2)
    label = element("text", fact.label, class_="label", x=x + 5, y=baseline)
    return element("g", words, bar, paper, label)


def _shape(
    kind: str,
    x: float,
    y: float,
    width: float,
    height: float,
) -> Element:
    if kind == "clock":
        return element("line", class_="clock", x1=x + 8, x2=x + 8, y1=y, y2=y + height)
    # All but what is open are drawn with a pattern, so that colour is not all that identifies them.
    fill: str | None = f"url(#{kind})"
    if kind == "open":
        fill = None
    return element("rect", class_=kind, fill=fill, x=x, y=y, width=width, height=height, rx=2)


def _x(fraction: float) -> float:
    # Hundredths of a pixel are finer than any screen, and keep the file small.
    return round(NAMES + TRACK * fraction, 2)


def _length(fraction: float) -> float:
    return round(TRACK * fraction, 2)
