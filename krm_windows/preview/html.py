"""Calendars as one page of HTML: the picture, and every fact of it in words.

Nothing is loaded from anywhere.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pkgutil import get_data

from krm_windows.preview import markup, merged_bars
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element, percent
from krm_windows.preview.picture import KINDS, Band, Fact, Picture, Row, draw
from krm_windows.preview.text import span

# The page carries all it needs and loads nothing (Content Security Policy Level 3).
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# How wide a character is, of the width of a track on a desk.
_CHARACTER = 0.0075


def render(every: Sequence[Calendar]) -> str:
    """Return the page."""
    picture = draw(every)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        # A phone would otherwise lay the page out as wide as a desk's, and shrink it.
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", picture.title),
        element("style", _asset("calendar.css")),
    )
    script = element("script", _asset("calendar.js"))
    body = element("body", _header(picture), element("main", *_main(picture)), script)
    # The language of the page's own words: names and reasons may be in any other.
    return markup.html(element("html", head, body, lang="en"))


def _asset(name: str) -> str:
    found = get_data(__package__ or "", f"assets/{name}")
    return (found or b"").decode()


def _header(picture: Picture) -> Element:
    zone = f"The days and hours on top are in {picture.zone.key}; each row names its own time zone."
    return element(
        "header",
        element("h1", f"{picture.subject}, ", element("span", picture.days)),
        element("p", f"When changes may reach {_count(picture)}. {zone}"),
        legend(),
        # The script shows the search: without it, it would do nothing.
        element("p", _search(), class_="search", hidden=""),
    )


def legend() -> Element:
    """Return what the colours and patterns mean."""
    swatches: list[Element] = []
    for kind, meaning in KINDS.items():
        # A colour says nothing to a screen reader, the words beside it do.
        swatch = element("span", class_=f"swatch {kind}", aria_hidden="true")
        swatches.append(element("li", swatch, meaning))
    return element("ul", *swatches, class_="legend", aria_label="Legend")


def _count(picture: Picture) -> str:
    # Rows of what is alike stand for many clusters.
    number = sum(len(row.names) for row in picture.rows)
    if number == 1:
        return picture.rows[0].names[0]
    if number == len(picture.rows):
        return f"{number} clusters"
    return f"{number} clusters, grouped in {len(picture.rows)} rows"


def _search() -> Element:
    # What was typed on other pages is no help here.
    field = element("input", type="search", id="search", autocomplete="off")
    return element("label", "Show only", field)


def _main(picture: Picture) -> Iterator[Element]:
    for band in picture.bands:
        yield _band(picture, band)
    yield element("h2", "In words")
    # The number of a row is its anchor in the page, `#r0`.
    for number, row in enumerate(picture.rows):
        yield words(row, number)


def _band(picture: Picture, band: Band) -> Element:
    ticks = (_tick(band, i) for i in range(len(band.ticks)))
    axis = element("td", *ticks, class_="axis", aria_hidden="true")
    # One row needs no heading, but an empty corner that keeps the columns in place.
    heading = ""
    if len(picture.rows) > 1:
        heading = "Cluster"
    corner = element("th", heading, scope="col", role="columnheader")
    # Roles in full: a table that CSS lays out otherwise is no table to some browsers.
    titles = element("tr", corner, axis, role="row")
    head = element("thead", titles, role="rowgroup")
    rows = (_row(row, number, band) for number, row in enumerate(picture.rows))
    table = element(
        "table",
        head,
        element("tbody", *rows, role="rowgroup"),
        class_="band",
        style=f"--grid:{_grid(band)}",
        role="table",
        aria_label=band.title or picture.title,
    )
    if not band.title:
        return element("section", table)
    return element("section", element("h2", band.title), table)


def _tick(band: Band, i: int) -> Element:
    tick = band.ticks[i]
    # A tick is as wide as its day, or quarter of one; the last goes up to the end of the band.
    following = band.ends
    if i + 1 < len(band.ticks):
        following = band.ticks[i + 1].at
    classes = "tick"
    if tick.major:
        classes = "tick major"
    return element(
        "span",
        element("span", tick.weekday, class_="weekday"),
        tick.label,
        class_=classes,
        style=_style(band.place(tick.at, following)),
    )


def _style(place: tuple[float, float] | None) -> str:
    """Return where something lies; what lies outside has no width."""
    left, width = place or (0, 0)
    return f"left:{percent(left)};width:{percent(width)}"


def _grid(band: Band) -> str:
    """Return a line for each tick as one background, where clock changes have moved it to."""
    if not band.ticks:
        return "none"
    stops: list[str] = []
    for tick in band.ticks:
        left = percent(band.left(tick.at))
        behind = f"calc({left} + 1px)"
        color = "var(--line)"
        if tick.major:
            color = "var(--major)"
        # Transparent up to the line, a pixel of colour, and transparent again.
        stops.append(f"transparent {left}")
        stops.append(f"{color} {left} {behind}")
        stops.append(f"transparent {behind}")
    return f"linear-gradient(to right,{','.join(stops)})"


def _row(row: Row, number: int, band: Band) -> Element:
    link = element("a", row.title, href=f"#r{number}")
    name = element("th", link, scope="row", role="rowheader")
    children = list(_outside(row, band))
    # A bar leads to its line in the table of words below: `#r0-12`.
    for i, fact in merged_bars.bars(row, band):
        bar = _bar(fact, f"r{number}-{i}", band)
        if bar is not None:
            children.append(bar)
    lanes = f"--lanes:{row.lanes_in(band)}"
    track = element("td", *children, class_="track", role="cell", style=lanes)
    return element("tr", name, track, role="row", data_row=number)


def _outside(row: Row, band: Band) -> Iterator[Element]:
    """Yield what of the band lies outside of the row's own days.

    Those begin at the row's own midnight.
    """
    before = (band.begins, row.begins)
    after = (row.ends, band.ends)
    for begins, ends in (before, after):
        place = band.place(begins, ends)
        # Where the row is as long as the band, nothing lies outside.
        if begins < ends and place:
            yield element("span", class_="outside", style=_style(place))


def _bar(fact: Fact, name: str, band: Band) -> Element | None:
    place = band.place(fact.begins, fact.ends)
    if place is None:
        return None
    style = _style(place)
    if fact.lane:
        style += f";--lane:{fact.lane}"
    return element(
        "a",
        _label(fact, place[1]),
        class_=f"bar {fact.kind}",
        href=f"#{name}",
        style=style,
        aria_label=fact.words,
    )


def _label(fact: Fact, width: float) -> Child:
    """Return the label of a bar; none where it would not fit, as then its end would be cut off."""
    # Of an instant, so its bar has no width that the label could fit.
    if fact.kind == "clock":
        return fact.label
    if width > _CHARACTER * len(fact.label):
        return element("span", fact.label)
    return ""


def words(row: Row, number: int) -> Element:
    """Return every fact of a row as a table, and the names of all that it represents."""
    zone = element("small", row.zone.key)
    children: list[Child] = [element("h3", row.title, " ", zone)]
    if row.has_more:
        names = (element("li", name) for name in row.names)
        children.append(element("ul", *names, class_="names"))
    # A row without a bar would leave open whether something failed to be drawn.
    if not any(fact.kind == "open" for fact in row.facts):
        children.append(element("p", "Never open on these days."))
    if row.facts:
        children.append(_table(row, number))
    return element("section", *children, id=f"r{number}", class_="words")


def _table(row: Row, number: int) -> Element:
    titles = (element("th", title, scope="col") for title in ("what", "from", "until", "for", "by"))
    facts = (_fact(row, fact, f"r{number}-{i}") for i, fact in enumerate(row.facts))
    head = element("thead", element("tr", *titles))
    return element("table", head, element("tbody", *facts), class_="facts")


def _fact(row: Row, fact: Fact, name: str) -> Element:
    swatch = element("span", class_=f"swatch {fact.kind}", aria_hidden="true")
    kind = element("td", swatch, KINDS[fact.kind])
    if fact.kind == "clock":
        return element("tr", kind, element("td", fact.words, colspan=4), id=name, class_="clock")
    return element(
        "tr",
        kind,
        element("td", _time(row, fact.begins)),
        element("td", _time(row, fact.ends)),
        element("td", span(fact.ends - fact.begins), class_="length"),
        element("td", *_by(fact)),
        id=name,
        class_=fact.kind,
    )


def _by(fact: Fact) -> Iterator[Child]:
    for i, rule in enumerate(fact.rules):
        if i > 0:
            yield ", "
        yield element("code", rule)
    if fact.reason:
        yield f" {fact.reason}"


def _time(row: Row, at: datetime) -> Element:
    # The instant with its offset, for whatever reads `<time>` (HTML, 4.5.14).
    return element("time", shown(at, row.zone), datetime=stamp(at, row.zone))
