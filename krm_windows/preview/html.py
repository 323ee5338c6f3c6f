"""Calendars as one page of HTML: the picture, and every fact of it in words.

Nothing is loaded from anywhere.
"""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pkgutil import get_data

from krm_windows.preview import markup, merged_bars
from krm_windows.preview.axis import Band, Quiet
from krm_windows.preview.calendar import Calendar
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element, fitting, percent
from krm_windows.preview.picture import KINDS, Fact, Line, Picture, Row, draw
from krm_windows.preview.text import recurring, span


def _asset(name: str) -> str:
    found = get_data(__package__ or "", f"assets/{name}")
    return (found or b"").decode()


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


_SCRIPT = _asset("calendar.js")
# The page carries all it needs and loads nothing. No script runs but its own, which is known by its
# hash (Content Security Policy Level 3, 8.3).
POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src {_hash(_SCRIPT)}"
# How wide a character is, of the width of a track on a desk.
_CHARACTER = 0.0075
# On a phone there is room for the words of so many days.
_FEW_TICKS = 8


def render(every: Sequence[Calendar], now: datetime | None = None) -> str:
    """Return the page, with a mark at `now` if it is among the days."""
    picture = draw(every, now)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        # A phone would otherwise lay the page out as wide as a desk's, and shrink it.
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", picture.title),
        element("style", _asset("calendar.css")),
    )
    script = element("script", _SCRIPT)
    body = element("body", _header(picture), element("main", *_main(picture)), script)
    # The language of the page's own words: names and reasons may be in any other.
    return markup.html(element("html", head, body, lang="en"))


def _header(picture: Picture) -> Element:
    return element(
        "header",
        element("h1", f"{picture.subject}, ", element("span", picture.days)),
        element("p", *_intro(picture)),
        legend(has_now=picture.now is not None),
        # The script shows the search: without it, it would do nothing.
        element("p", _search(), class_="search", hidden=""),
    )


def _intro(picture: Picture) -> Iterator[Child]:
    """Yield what all rows have in common."""
    count = _count(picture)
    if count:
        yield f"{count}. "
    yield f"{picture.clocks} "
    if picture.gates:
        yield f"Gates {picture.gates}. "
    if picture.now is not None:
        yield "Now it is "
        yield element(
            "time",
            picture.time_of_now,
            datetime=stamp(picture.now, picture.zone),
        )
        yield "."


def legend(*, has_now: bool) -> Element:
    """Return what the colours and patterns mean."""
    swatches = [_swatch(kind, meaning) for kind, meaning in KINDS.items()]
    swatches.append(_swatch("weekend", "Saturday and Sunday"))
    if has_now:
        swatches.append(_swatch("line-of-now", "now"))
    return element("ul", *swatches, class_="legend", aria_label="Legend")


def _swatch(kind: str, meaning: str) -> Element:
    # A colour says nothing to a screen reader, the words beside it do.
    return element("li", element("span", class_=f"swatch {kind}", aria_hidden="true"), meaning)


def _count(picture: Picture) -> str:
    # Rows of what is alike stand for many clusters.
    number = sum(len(row.names) for row in picture.rows)
    if number == 1:
        name = picture.rows[0].names[0]
        # A policy that is for every cluster is in the title already.
        return "" if name == picture.subject else name
    what = "policies and clusters"
    if picture.policy:
        what = "clusters"
    if number == len(picture.rows):
        return f"{number} {what}"
    return f"{number} {what}, grouped in {len(picture.rows)} rows"


def _search() -> Element:
    # What was typed on other pages is no help here.
    field = element("input", type="search", id="search", autocomplete="off")
    return element("label", "Show only", field)


def _main(picture: Picture) -> Iterator[Element]:
    for month, part in picture.months():
        if month:
            yield element("h2", month)
        if isinstance(part, Quiet):
            yield element("p", part.words, class_="unchanged")
        else:
            yield _band(picture, part)
    yield element("h2", "In words")
    # The number of a row is its anchor in the page, `#r0`.
    for number, row in enumerate(picture.rows):
        yield words(row, number)


def _band(picture: Picture, band: Band) -> Element:
    # What a screen reader says of the column; where each day begins is for eyes.
    days = element("span", band.days, class_="unseen")
    axis = element("th", days, class_="axis", scope="col", role="columnheader")
    heading = "Policy"
    if picture.policy and picture.rows[0].names[0] != picture.policy:
        heading = "Cluster"
    corner = element("th", heading, scope="col", role="columnheader", class_="corner")
    # Roles in full: a table that CSS lays out otherwise is no table to some browsers.
    titles = element("tr", corner, axis, role="row")
    head = element("thead", titles, role="rowgroup")
    rows = (_row(picture, row, number, band) for number, row in enumerate(picture.rows))
    table = element(
        "table",
        head,
        element("tbody", *rows, role="rowgroup"),
        class_="band",
        role="table",
        aria_label=f"{picture.subject}, {band.days}",
    )
    classes = "stretch"
    if len(band.ticks) > _FEW_TICKS:
        classes = "stretch many"
    scale = element("span", *_scale(band), class_="scale", aria_hidden="true")
    children = [scale, table]
    now = picture.now
    # In several zones it is another time in each row.
    if now is not None and not picture.several_zones and band.holds(now):
        # In front of the bars, where the days are behind them.
        children.append(element("span", _now(band, now), class_="scale front", aria_hidden="true"))
    return element("section", *children, class_=classes)


def _now(band: Band, now: datetime) -> Element:
    return element(
        "span", class_="line-of-now", style=_style(band.place(now, now)), aria_hidden="true"
    )


def _scale(band: Band) -> Iterator[Element]:
    """Yield what lies behind all rows: weekends and days."""
    for interval in band.weekends:
        yield element("span", class_="weekend", style=_style(band.place(*interval)))
    for i in range(len(band.ticks)):
        yield _tick(band, i)


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
    """Return where something is; what is outside has no width."""
    left, width = place or (0, 0)
    return f"left:{percent(left)};width:{percent(width)}"


def _row(
    picture: Picture,
    row: Row,
    number: int,
    band: Band,
) -> Element:
    label: list[Child] = [element("a", row.title, href=f"#r{number}")]
    if picture.several_zones:
        label += [" ", element("small", row.zone.key)]
    name = element("th", *label, scope="row", role="rowheader")
    own = picture.band_of(row, band)
    children = list(_outside(row, own))
    # A bar leads to its line in the table of words below: `#r0-12`.
    for i, fact in merged_bars.bars(row, own):
        bar = _bar(row, fact, f"r{number}-{row.line_of(i)}", own)
        if bar is not None:
            children.append(bar)
    if picture.several_zones and picture.now is not None and own.holds(picture.now):
        children.append(_now(own, picture.now))
    lanes = f"--lanes:{row.lanes_in(own)}"
    track = element("td", *children, class_="track", role="cell", style=lanes)
    return element("tr", name, track, role="row", data_row=number)


def _outside(row: Row, band: Band) -> Iterator[Element]:
    """Yield what of the band is outside of the row's own days.

    Those begin at the row's own midnight.
    """
    before = (band.begins, row.begins)
    after = (row.ends, band.ends)
    for begins, ends in (before, after):
        place = band.place(begins, ends)
        # Where the row is as long as the band, nothing is outside.
        if begins < ends and place:
            yield element("span", class_="outside", style=_style(place))


def _bar(
    row: Row,
    fact: Fact,
    name: str,
    band: Band,
) -> Element | None:
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
        aria_label=_name(fact),
        title=row.hover(fact),
    )


def _name(fact: Fact) -> str:
    """Return what a screen reader says of a bar: its label first, which may be all that is seen."""
    if fact.label in fact.words:
        return fact.words
    return f"{fact.label}: {fact.words}"


def _label(fact: Fact, width: float) -> Child:
    """Return the label of a bar; none where only few of its characters would fit."""
    # Of an instant, so its bar has no width that the label could fit. The style cuts what does not
    # fit, with a mark: whoever does not see it is told the label in full.
    if fact.kind == "clock" or fitting(fact.label, width / _CHARACTER):
        return element("span", fact.label)
    return ""


def words(row: Row, number: int) -> Element:
    """Return every fact of a row as a table, and the names of all that it represents."""
    zone = element("small", row.zone.key)
    children: list[Child] = [element("h3", row.title, " ", zone)]
    if row.has_more:
        names = (element("li", name) for name in row.names)
        children.append(element("ul", *names, class_="names"))
    children.extend(element("p", gated, class_="gates") for gated in row.gated())
    children.extend(_descriptions(row))
    # A row without a bar would leave open whether something failed to be drawn.
    if not any(fact.kind == "open" for fact in row.facts):
        children.append(element("p", "Never open on these days."))
    if row.facts:
        children.append(_table(row, number))
    return element("section", *children, id=f"r{number}", class_="words")


def _descriptions(row: Row) -> Iterator[Element]:
    """Yield what is written about the windows, as a list."""
    if not row.descriptions:
        return
    items = (
        element("li", element("code", rule), f": {description}")
        for rule, description in row.descriptions
    )
    yield element("ul", *items, class_="descriptions")


def _table(row: Row, number: int) -> Element:
    titles = (element("th", title, scope="col") for title in ("what", "from", "until", "for", "by"))
    facts = (_line(row, line, f"r{number}-{line.number}") for line in row.lines)
    head = element("thead", element("tr", *titles))
    body = element("tbody", *facts)
    return element("table", head, body, class_="facts", aria_label=row.title)


def _line(row: Row, line: Line, name: str) -> Element:
    fact, last = line.run.first, line.run.last
    swatch = element("span", class_=f"swatch {fact.kind}", aria_hidden="true")
    kind = element("td", swatch, KINDS[fact.kind])
    if fact.kind == "clock":
        return element("tr", kind, element("td", fact.words, colspan=4), id=name, class_="clock")
    return element(
        "tr",
        kind,
        element("td", _time(row, fact.begins, "before these days" if fact.goes_back else "")),
        # Of what recurs, the end of the last one, and the length of each.
        element("td", _time(row, last.ends, "after these days" if last.goes_on else "")),
        element("td", span(fact.ends - fact.begins), class_="length"),
        element("td", *_by(fact), recurring(line.run)),
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


def _time(row: Row, at: datetime, beyond: str) -> Child:
    """Return an instant in words; of the rim of the days, which is no edge, what is beyond it."""
    if beyond:
        return beyond
    # The instant with its offset, for whatever reads `<time>` (HTML, 4.5.14).
    return element("time", shown(at, row.zone), datetime=stamp(at, row.zone))
