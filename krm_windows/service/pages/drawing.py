"""The calendar's picture in a page: tracks of SVG whose places are shares of the width.

The pages' Content Security Policy allows no style in an element, so nothing is placed by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from krm_windows.preview import html, markup, merged_bars, svg
from krm_windows.preview.axis import Band, Quiet, Tick
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown
from krm_windows.preview.markup import Element, element, percent
from krm_windows.preview.picture import Fact, Picture, Row, draw

# In pixels: what results, and below it what was asked for.
_LANE = 26
_OTHER_LANE = 20
_AXIS = 34
# On a phone there is room for the words of so many.
_FEW_TICKS = 8
# A short window in a long band is seen, too.
_LEAST = 0.002
# How wide a character is, of the width of a track on a desk.
_CHARACTER = 0.0085


@dataclass(frozen=True, slots=True)
class Drawn:
    """The picture of some calendars, and every fact of it in words."""

    picture: Markup
    words: Markup


def drawn(every: Sequence[Calendar], now: datetime) -> Drawn:
    """Draw some calendars."""
    picture = draw(every, now)
    has_now = picture.now is not None
    patterns = element("svg", svg.patterns(), class_="patterns")
    parts: list[Element] = [html.legend(has_now=has_now), patterns]
    for month, part in picture.months():
        if month:
            parts.append(element("h3", month))
        if isinstance(part, Quiet):
            parts.append(element("p", part.words, class_="unchanged"))
        else:
            parts.append(_band(picture, part))
    words = [html.words(row, number) for number, row in enumerate(picture.rows)]
    return Drawn(_markup(parts), _markup(words))


def _markup(parts: Sequence[Element]) -> Markup:
    # Every text in it was escaped as the elements were made.
    return Markup("").join(Markup(markup.fragment(part)) for part in parts)  # noqa: S704


def _band(picture: Picture, band: Band) -> Element:
    children: list[Element] = []
    ticks = [_tick(tick, band) for tick in band.ticks if tick.label]
    classes = "ticks"
    if len(ticks) > _FEW_TICKS:
        classes = "ticks many"
    shades = _weekends(band.shades(), _AXIS)
    axis = element("svg", *shades, *ticks, class_=classes, height=_AXIS, aria_hidden="true")
    children.append(element("div", element("span"), axis, class_="line"))
    for number, row in enumerate(picture.rows):
        children.append(_row(picture, row, number, band))
    return element(
        "section", *children, class_="picture", aria_label=f"{picture.subject}, {band.days}"
    )


def _tick(tick: Tick, band: Band) -> Element:
    # By shares and not by pixels: the track is as wide as the screen lets it be.
    x = percent(band.left(tick.at))
    classes = "day"
    if tick.major:
        classes = "day major"
    return element(
        "text",
        element("tspan", tick.weekday, x=x, dx=3, y=12, class_="weekday"),
        element("tspan", tick.label, x=x, dx=3, y=28),
        class_=classes,
    )


def _row(picture: Picture, row: Row, number: int, band: Band) -> Element:
    # A row grows with what overlaps in it.
    height = _LANE + _OTHER_LANE * row.lanes_in(picture.band_of(row, band))
    # To a screen reader it is one picture: the table below has each fact in words.
    shapes = list(_shapes(picture, row, band, height))
    track = element(
        "svg",
        *shapes,
        class_="track-svg",
        height=height,
        role="img",
        aria_label=f"{row.title}: a chart; described in words below",
    )
    name = element("span", element("a", row.title, href=f"#r{number}"), class_="name")
    if picture.several_zones:
        name.append(element("small", row.zone.key))
    return element("div", name, track, class_="line")


def _shapes(picture: Picture, row: Row, band: Band, height: int) -> Iterator[Element]:
    own = picture.band_of(row, band)
    # In this order they lie on each other: paper, grid, bars, and now on top.
    # The row's own days: what is beyond them was not worked out, and is left blank.
    place = own.place(row.begins, row.ends) or (0.0, 0.0)
    left, width = map(percent, place)
    yield element("rect", class_="paper", x=left, width=width, height=height)
    yield from _weekends(band.shades(place), height)
    for tick in band.ticks:
        kind = "grid"
        if tick.major:
            kind = "grid major"
        yield _line(kind, band.left(tick.at), height)
    # What is too short to be seen alone is drawn as one bar with its neighbours.
    for _, fact in merged_bars.bars(row, own):
        bar = own.place(fact.begins, fact.ends)
        if bar is not None:
            yield _fact(row, fact, bar, height)
    now = picture.now
    if now is not None and own.holds(now):
        words = f"now: {shown(now, row.zone)} ({row.zone.key})"
        yield element("g", element("title", words), _line("now", own.left(now), height))


def _weekends(places: Iterable[tuple[float, float]], height: int) -> Iterator[Element]:
    for place in places:
        left, width = map(percent, place)
        yield element("rect", class_="weekend-paper", x=left, y=0, width=width, height=height)


def _line(kind: str, left: float, height: int) -> Element:
    x = percent(left)
    return element("line", class_=kind, x1=x, x2=x, y1=0, y2=height)


def _fact(row: Row, fact: Fact, place: tuple[float, float], height: int) -> Element:
    left, width = place
    # What a pointer shows when it rests on the bar.
    words = element("title", row.hover(fact))
    if fact.kind == "clock":
        return element("g", words, _line("clock", left, height))
    top = 2
    tall = _LANE - 4
    # Below what results, what was asked for: each overlap in a lane of its own.
    if fact.lane:
        top = _LANE + _OTHER_LANE * (fact.lane - 1)
        tall = _OTHER_LANE - 3
    # What is open is plain; the others have a pattern, so that colour says it not alone.
    fill: str | None = f"url(#{fact.kind})"
    if fact.kind == "open":
        fill = None
    bar = element(
        "rect",
        class_=f"fact {fact.kind}",
        fill=fill,
        x=percent(left),
        y=top,
        width=percent(max(width, _LEAST)),
        height=tall,
        rx=2,
    )
    parts = [words, bar]
    # On a pattern nobody could read it: the words below name it.
    label = markup.fitting(fact.label, width / _CHARACTER)
    if fact.kind == "open" and label:
        parts.append(
            element(
                "text",
                label,
                class_="label",
                x=percent(left),
                dx=6,
                y=top + tall - 6,
            )
        )
    return element("g", *parts)
