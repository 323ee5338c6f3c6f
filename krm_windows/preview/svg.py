"""Calendars as a picture of SVG: what the page of HTML shows.

A title on each part says its facts in words.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pkgutil import get_data

from krm_windows.preview import markup, merged_bars
from krm_windows.preview.axis import Band, Quiet, Tick
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown
from krm_windows.preview.markup import Element, element, fitting
from krm_windows.preview.picture import KINDS, Fact, Picture, Row, draw

WIDTH = 960
"""In pixels; a viewer scales the whole."""
# Up to so many pixels names are above the tracks, as on a phone.
_NARROW = 640
_NAMES = 200
_MARGIN = 12
# Heights: of the title, of a line of words, of an axis, of what results, of what was asked for.
_TITLE = 34
_LINE = 18
_MONTH = 26
_AXIS = 34
_LANE = 26
_OTHER_LANE = 17
_GAP = 3
# The mean width of a character: of labels, of those in bold, a title, a small one, the legend.
_CHARACTER = 7
_BOLD = 8
_OF_TITLE = 10.5
_SMALL = 6
_OF_LEGEND = 6.5
# Ticks that are closer have no words.
_LEAST_STEP = 38
# What is a line in the legend, and what has a colour alone.
_LINES = ("clock", "now")
_PLAIN = ("open", "weekend")


@dataclass(frozen=True, slots=True)
class Canvas:
    """A picture's width in pixels, and what lies where in it: names are beside or above tracks."""

    picture: Picture
    width: int

    @property
    def is_narrow(self) -> bool:
        """Whether names are above the tracks."""
        return self.width < _NARROW

    @property
    def left(self) -> int:
        """Where tracks begin."""
        return _MARGIN if self.is_narrow else _NAMES

    @property
    def track(self) -> int:
        """How wide a track is."""
        return self.width - self.left - _MARGIN

    @property
    def inner(self) -> int:
        """How wide words may be that are beside nothing."""
        return self.width - 2 * _MARGIN

    def x(self, fraction: float) -> float:
        """Return where a fraction of a track is."""
        # Hundredths of a pixel are finer than any screen, and keep the file small.
        return round(self.left + self.track * fraction, 2)

    def length(self, fraction: float) -> float:
        """Return how long a fraction of a track is."""
        return round(self.track * fraction, 2)

    def lines(self, words: str) -> list[str]:
        """Return words in two lines at most; the second says by a mark that there are more."""
        room = self.inner // _CHARACTER
        lines = textwrap.wrap(words, room, break_on_hyphens=False)
        rest = fitting(" ".join(lines[1:]), room)
        return [each for each in (*lines[:1], rest) if each]


def render(
    every: Sequence[Calendar],
    now: datetime | None = None,
    width: int = WIDTH,
) -> str:
    """Return the picture, with a mark at `now` if it is among the days."""
    picture = draw(every, now)
    canvas = Canvas(picture, width)
    head, y = _head(canvas)
    drawn, height = _parts(canvas, y)
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
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
    return markup.xml(root)


def _head(canvas: Canvas) -> tuple[list[Element], int]:
    """Return the title, what all rows have in common, and the legend; and the height of all."""
    words = canvas.picture.clocks
    if canvas.picture.now is not None:
        words += f" Now it is {canvas.picture.time_of_now}."
    said = [words]
    if canvas.picture.gates:
        said.append(f"Gates {canvas.picture.gates}.")
    drawn: list[Element] = []
    y = 0
    for title in _titles(canvas):
        drawn.append(element("text", title, class_="title", x=_MARGIN, y=y + 24))
        y += 22
    y += _TITLE - 22
    for words in said:
        lines, y = _words(words, canvas, y)
        drawn += lines
    legend, y = _legend(canvas, y + _GAP)
    return [*drawn, *legend], y


def _titles(canvas: Canvas) -> list[str]:
    """Return the title, in two lines where one is too short for it: its days are always seen."""
    room = canvas.inner / _OF_TITLE
    if markup.characters(canvas.picture.title) <= room:
        return [canvas.picture.title]
    return [fitting(f"{canvas.picture.subject},", room), canvas.picture.days]


def _words(
    words: str,
    canvas: Canvas,
    y: int,
    **attributes: object,
) -> tuple[list[Element], int]:
    """Return words in lines, which say all of it to a pointer, and where they end."""
    drawn: list[Element] = []
    for line in canvas.lines(words):
        full = element("title", words)
        drawn.append(element("text", line, full, x=_MARGIN, y=y + 12, **attributes))
        y += _LINE
    return drawn, y


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


def _legend(canvas: Canvas, y: int) -> tuple[list[Element], int]:
    """Return what colours and patterns mean from `y` on, and where that ends."""
    drawn: list[Element] = []
    x = float(_MARGIN)
    shapes = {**KINDS, "weekend": "weekend"}
    if canvas.picture.now is not None:
        shapes["now"] = "now"
    for kind, words in shapes.items():
        # By the length of the words: a text that is not drawn yet has no width.
        width = 38 + _OF_LEGEND * len(words)
        if x + width > canvas.width:
            x = float(_MARGIN)
            y += _LINE
        drawn.append(_shape(kind, x, y, 22, 13))
        drawn.append(element("text", words, x=x + 28, y=y + 11))
        x += width
    return drawn, y + _LINE


def _parts(canvas: Canvas, y: int) -> tuple[list[Element], int]:
    """Return bands and quiet weeks, one below the other from `y` on, and the height of all."""
    drawn: list[Element] = []
    # SVG has no layout: everything is placed by its distance from the top.
    for month, part in canvas.picture.months():
        if month:
            drawn.append(element("text", month, class_="month", x=_MARGIN, y=y + 24))
            y += _MONTH
        if isinstance(part, Quiet):
            lines, y = _words(part.words, canvas, y + 6, class_="unchanged")
            drawn += lines
            continue
        band, y = _band(canvas, part, y)
        drawn += band
    return drawn, y + _MARGIN


def _band(canvas: Canvas, band: Band, y: int) -> tuple[list[Element], int]:
    """Return the axis and the rows from `y` on, and where they end."""
    drawn = [_weekend(canvas, place, y, _AXIS) for place in band.shades()]
    # On a phone there is no room for words of each.
    is_close = canvas.track < _LEAST_STEP * len(band.ticks)
    named = (tick for tick in band.ticks if tick.label and (tick.major or not is_close))
    drawn += (_tick(tick, band, canvas, y) for tick in named)
    y += _AXIS
    for row in canvas.picture.rows:
        name, y = _name(canvas, row, y)
        drawn += name
        height = _LANE + _OTHER_LANE * row.lanes_in(canvas.picture.band_of(row, band))
        drawn += _row(canvas, row, band, y, height)
        y += height + _GAP
    return drawn, y


def _weekend(
    canvas: Canvas,
    place: tuple[float, float],
    y: int,
    height: int,
) -> Element:
    left, width = place
    return element(
        "rect",
        class_="weekend",
        x=canvas.x(left),
        y=y,
        width=canvas.length(width),
        height=height,
    )


def _tick(tick: Tick, band: Band, canvas: Canvas, y: int) -> Element:
    x = canvas.x(band.left(tick.at)) + 2
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
    canvas: Canvas,
    row: Row,
    band: Band,
    y: int,
    height: int,
) -> Iterator[Element]:
    own = canvas.picture.band_of(row, band)
    # The row's own days may begin later than the axis, which has those of all rows.
    left, width = own.place(row.begins, row.ends) or (0, 0)
    x, length = canvas.x(left), canvas.length(width)
    yield element("rect", class_="track", x=x, y=y, width=length, height=height)
    for weekend in band.shades((left, width)):
        yield _weekend(canvas, weekend, y, height)
    for tick in band.ticks:
        kind = "line"
        if tick.major:
            kind = "major-line"
        yield _line(kind, canvas.x(band.left(tick.at)), y, height)
    for _, fact in merged_bars.bars(row, own):
        place = own.place(fact.begins, fact.ends)
        if place:
            left, width = place
            words = element("title", row.hover(fact))
            shapes = _fact(fact, canvas.x(left), canvas.length(width), y, height)
            yield element("g", words, *shapes)
    if canvas.picture.now is not None and own.holds(canvas.picture.now):
        words = element("title", f"now: {shown(canvas.picture.now, row.zone)} ({row.zone.key})")
        yield element("g", words, _line("now", canvas.x(own.left(canvas.picture.now)), y, height))


def _name(canvas: Canvas, row: Row, y: int) -> tuple[list[Element], int]:
    """Return a row's name, and its zone where rows have several; and where the row begins."""
    # The title that a pointer shows has all names, however few fit.
    said = [f"{', '.join(row.names)} ({row.zone.key})", *row.gated()]
    full = element("title", "; ".join(said))
    zone = row.zone.key if canvas.picture.several_zones else ""
    if canvas.is_narrow:
        of_zone = element("tspan", f" {zone}", class_="zone")
        room = (canvas.inner - _SMALL * len(zone)) / _BOLD
        name = fitting(row.title, room)
        words = element("text", name, of_zone, full, class_="name", x=_MARGIN, y=y + 13)
        return [words], y + _LINE
    drawn: list[Element] = []
    baseline = y + 17
    if zone:
        baseline = y + 11
        drawn.append(element("text", zone, class_="zone", x=_MARGIN, y=y + 23))
    title = fitting(row.title, (_NAMES - _MARGIN) / _BOLD)
    drawn.append(element("text", title, full, class_="name", x=_MARGIN, y=baseline))
    return drawn, y


def _line(kind: str, x: float, y: int, height: int) -> Element:
    return element("line", class_=kind, x1=x, x2=x, y1=y, y2=y + height)


def _fact(
    fact: Fact,
    x: float,
    width: float,
    y: int,
    height: int,
) -> list[Element]:
    if fact.kind == "clock":
        return _clock(fact, x, y, height)
    top = y + 2
    tall = _LANE - 4
    if fact.lane:
        top = y + _LANE + _OTHER_LANE * (fact.lane - 1)
        tall = _OTHER_LANE - 2
    # Two pixels at least, so that a short window in a long band is seen.
    bar = _shape(fact.kind, x, top, max(width, 2), tall)
    # What does not fit would run over the next bar; the title says it all the same.
    words = fitting(fact.label, (width - 6) / _CHARACTER)
    if not words:
        return [bar]
    baseline = top + tall / 2 + 4
    if fact.kind == "open":
        label = element("text", words, class_="on-open", x=x + 5, y=baseline)
        return [bar, label]
    label = element("text", words, class_="label", x=x + 5, y=baseline)
    return [bar, _paper(words, _CHARACTER, x + 2, top + 1, tall - 2), label]


def _clock(fact: Fact, x: float, y: int, height: int) -> list[Element]:
    line = element("line", class_="clock", x1=x, x2=x, y1=y, y2=y + height)
    label = element("text", fact.label, class_="clock-label", x=x + 3, y=y + 9)
    return [line, _paper(fact.label, _SMALL, x + 1, y, 11), label]


def _paper(words: str, character: float, x: float, y: float, height: float) -> Element:
    """Return what is behind a label: nobody could read it on a bar or on a pattern."""
    width = character * markup.characters(words) + 4
    return element("rect", class_="paper", x=x, y=y, width=width, height=height)


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
