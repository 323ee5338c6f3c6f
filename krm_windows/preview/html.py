"""Calendars as one page of HTML: the picture, and every fact of it in words; nothing is loaded from anywhere."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pkgutil import get_data

from krm_windows.preview import crowd, markup
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element, percent
from krm_windows.preview.picture import KINDS, Band, Fact, Picture, Row, draw
from krm_windows.preview.text import span

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_CHARACTER = 0.0075  # of the width of a track on a desk


def render(every: Sequence[Calendar]) -> str:
    """Return the page."""
    picture = draw(every)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", picture.title),
        element("style", _asset("calendar.css")),
    )
    script = element("script", _asset("calendar.js"))
    body = element("body", _header(picture), element("main", *_main(picture)), script)
    return markup.html(element("html", head, body, lang="en"))


def _asset(name: str) -> str:
    return (get_data(__package__ or "", f"assets/{name}") or b"").decode()


def _header(picture: Picture) -> Element:
    swatches = (
        element("li", element("span", class_=f"swatch {kind}", aria_hidden="true"), words)
        for kind, words in KINDS.items()
    )
    zone = f"Days and hours on top in {picture.zone.key}; each row tells its own."
    return element(
        "header",
        element("h1", f"{picture.subject}, ", element("span", picture.days)),
        element("p", f"When changes may reach {_count(picture)}. {zone}"),
        element("ul", *swatches, class_="legend", aria_label="Legend"),
        element("p", _search(), class_="search", hidden=""),
    )


def _count(picture: Picture) -> str:
    number = sum(len(row.names) for row in picture.rows)
    alike = f", in {len(picture.rows)} rows of what is alike" if number > len(picture.rows) else ""
    return f"{number} clusters{alike}" if number > 1 else picture.rows[0].names[0]


def _search() -> Element:
    field = element("input", type="search", id="search", autocomplete="off")
    return element("label", "Show only", field)


def _main(picture: Picture) -> Iterator[Element]:
    for band in picture.bands:
        yield _band(picture, band)
    yield element("h2", "In words")
    for number, row in enumerate(picture.rows):
        yield _words(row, number)


def _band(picture: Picture, band: Band) -> Element:
    axis = element(
        "td", *(_tick(band, i) for i in range(len(band.ticks))), class_="axis", aria_hidden="true"
    )
    corner = element(
        "th", "Cluster" if len(picture.rows) > 1 else "", scope="col", role="columnheader"
    )
    head = element("thead", element("tr", corner, axis, role="row"), role="rowgroup")
    rows = (_row(row, number, band) for number, row in enumerate(picture.rows))
    grid = {
        "style": f"--grid:{_grid(band)}",
        "role": "table",
        "aria_label": band.title or picture.title,
    }
    table = element("table", head, element("tbody", *rows, role="rowgroup"), class_="band", **grid)
    title = (element("h2", band.title),) if band.title else ()
    return element("section", *title, table)


def _tick(band: Band, i: int) -> Element:
    tick = band.ticks[i]
    following = band.ticks[i + 1].at if i + 1 < len(band.ticks) else band.ends
    left, width = band.place(tick.at, following) or (0, 0)
    words = (element("span", tick.weekday, class_="weekday"), tick.label)
    kind = "tick major" if tick.major else "tick"
    return element(
        "span", *words, class_=kind, style=f"left:{percent(left)};width:{percent(width)}"
    )


def _grid(band: Band) -> str:
    """Return a line for each tick as one background, where clock changes have moved it to."""
    stops = []
    for tick in band.ticks:
        left, color = (
            percent((band.place(tick.at, tick.at) or (0, 0))[0]),
            f"var(--{'major' if tick.major else 'line'})",
        )
        stops.append(
            f"transparent {left},{color} {left} calc({left} + 1px),transparent calc({left} + 1px)"
        )
    return f"linear-gradient(to right,{','.join(stops)})" if stops else "none"


def _row(row: Row, number: int, band: Band) -> Element:
    name = element("th", element("a", row.title, href=f"#r{number}"), scope="row", role="rowheader")
    facts = (_bar(fact, f"r{number}-{i}", band) for i, fact in crowd.bars(row, band))
    children = [bar for bar in facts if bar is not None]
    children[:0] = _outside(row, band)
    track = element(
        "td", *children, class_="track", role="cell", style=f"--lanes:{row.lanes_in(band)}"
    )
    return element("tr", name, track, role="row", data_row=number)


def _outside(row: Row, band: Band) -> Iterator[Element]:
    """Yield what of the band lies outside of the row's own days, which begin at its own midnight."""
    for begins, ends in ((band.begins, row.begins), (row.ends, band.ends)):
        if begins < ends and (place := band.place(begins, ends)):
            yield element(
                "span",
                class_="outside",
                style=f"left:{percent(place[0])};width:{percent(place[1])}",
            )


def _bar(fact: Fact, name: str, band: Band) -> Element | None:
    place = band.place(fact.begins, fact.ends)
    if place is None:
        return None
    left, width = place
    fits = width > _CHARACTER * len(fact.label)
    label = fact.label if fact.kind == "clock" else element("span", fact.label) if fits else ""
    lane = f";--lane:{fact.lane}" if fact.lane else ""
    style = f"left:{percent(left)};width:{percent(width)}{lane}"
    return element(
        "a", label, class_=f"bar {fact.kind}", href=f"#{name}", style=style, aria_label=fact.words
    )


def _words(row: Row, number: int) -> Element:
    """Return every fact of a row as a table, and the names of all that it stands for."""
    names = element("ul", *(element("li", name) for name in row.names), class_="names")
    listed: tuple[Child, ...] = (names,) if row.has_more else ()
    head = element(
        "tr", *(element("th", title, scope="col") for title in ("", "from", "until", "for", "by"))
    )
    facts = [_fact(row, fact, f"r{number}-{i}") for i, fact in enumerate(row.facts)]
    table = element("table", element("thead", head), element("tbody", *facts), class_="facts")
    never = (
        ()
        if any(fact.kind == "open" for fact in row.facts)
        else (element("p", "Never open in these days."),)
    )
    title = element("h3", row.title, " ", element("small", row.zone.key))
    return element(
        "section",
        title,
        *listed,
        *never,
        *((table,) if facts else ()),
        id=f"r{number}",
        class_="words",
    )


def _fact(row: Row, fact: Fact, name: str) -> Element:
    kind = element(
        "td", element("span", class_=f"swatch {fact.kind}", aria_hidden="true"), KINDS[fact.kind]
    )
    if fact.kind == "clock":
        return element("tr", kind, element("td", fact.words, colspan=4), id=name, class_="clock")
    edges = (element("td", _time(row, at)) for at in (fact.begins, fact.ends))
    by = element("td", *_by(fact))
    return element(
        "tr",
        kind,
        *edges,
        element("td", span(fact.ends - fact.begins), class_="length"),
        by,
        id=name,
        class_=fact.kind,
    )


def _by(fact: Fact) -> Iterator[Child]:
    for i, rule in enumerate(fact.rules):
        yield from ((", ",) if i else ())
        yield element("code", rule)
    if fact.reason:
        yield f" {fact.reason}"


def _time(row: Row, at: datetime) -> Element:
    return element("time", shown(at, row.zone), datetime=stamp(at, row.zone))
