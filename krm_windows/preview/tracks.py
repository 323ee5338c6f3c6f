"""What is drawn of each row in a band, and where: the same for every writer.

Windows too short and too close to be drawn one by one are one bar, which says how often it opens
and is no plain "open".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain, pairwise
from operator import attrgetter

from krm_windows.preview.axis import Band
from krm_windows.preview.folding import fold
from krm_windows.preview.picture import Fact, Picture, Row
from krm_windows.preview.text import recurring, span

# Of the width of a band: about three pixels of a desk's screen, the least that is seen.
_FINEST = 1 / 300

Place = tuple[float, float]
"""Where something begins and how wide it is, in shares of the width of a band."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A fact in a band, or many that are drawn as one.

    `number` is that of the first among the row's facts, `line` that of its line in words.
    """

    fact: Fact
    number: int
    line: int
    place: Place


@dataclass(frozen=True, slots=True)
class Track:
    """A row in a band: `own` is where its days are, and `outside` what of the band they are not.

    `lanes` are those below the first; `now` is where the instant that is marked is, if it is here.
    """

    row: Row
    number: int
    lanes: int
    own: Place
    outside: tuple[Place, ...]
    bars: tuple[Bar, ...]
    now: float | None


def tracks(picture: Picture, band: Band) -> Iterator[Track]:
    """Yield every row as it is drawn in a band; bars are in the order of time."""
    for number, row in enumerate(picture.rows):
        days = picture.band_of(row, band)
        # The row's own days begin at its own midnight, the axis has those of all rows.
        rims = ((days.begins, row.begins), (row.ends, days.ends))
        outside = [days.place(*rim) for rim in rims if rim[0] < rim[1]]
        now = None
        if picture.now is not None and days.holds(picture.now):
            now = days.left(picture.now)
        yield Track(
            row=row,
            number=number,
            lanes=row.lanes_in(days),
            own=days.place(row.begins, row.ends) or (0, 0),
            outside=tuple(filter(None, outside)),
            bars=tuple(sorted(_bars(row, days), key=attrgetter("number"))),
            now=now,
        )


def _bars(row: Row, band: Band) -> Iterator[Bar]:
    for facts in _chains(row, band):
        number, fact = facts[0]
        if len(facts) > 1:
            fact = _merged([each for _, each in facts])
        place = band.place(fact.begins, fact.ends)
        if place is not None:
            yield Bar(fact, number, row.line_of(number), place)


def _chains(row: Row, band: Band) -> Iterator[list[tuple[int, Fact]]]:
    """Yield the facts in a band, those together that cannot be seen apart."""
    # Of a week: about half an hour.
    finest = (band.ends - band.begins) * _FINEST
    close: list[tuple[int, Fact]] = []
    for number, fact in row.within(band):
        # Freezes and overrides are few, and each of them matters.
        if fact.kind != "open":
            yield [(number, fact)]
            continue
        # A chain: each is close to the one before, however far it is to the first.
        if close and not _touch(close[-1][1], fact, finest):
            yield close
            close = []
        close.append((number, fact))
    if close:
        yield close


def _touch(one: Fact, following: Fact, finest: timedelta) -> bool:
    """Whether two windows, and the gap between them, are all narrower than can be seen."""
    # One that is wide enough to be seen is drawn on its own, however near the next one is.
    edges = (one.begins, one.ends, following.begins, following.ends)
    return all(end - begin < finest for begin, end in pairwise(edges))


def _merged(close: Sequence[Fact]) -> Fact:
    first, last = close[0], close[-1]
    together = sum((fact.ends - fact.begins for fact in close), timedelta())
    # A dict keeps the order in which rules come first, and each once.
    rules = tuple(dict.fromkeys(chain.from_iterable(fact.rules for fact in close)))
    often = f", {len(close):,} times"
    within = f" within {span(last.ends - first.begins)}"
    runs = fold(close)
    # Of one rhythm: `, every 10 m, 1,008 times`.
    if len(runs) == 1 and runs[0].is_folded:
        often = recurring(runs[0])
        within = f",{within}"
    words = (
        f"opens {often.removeprefix(', ')}{within}, for {span(together)} in all, "
        f"by {', '.join(rules)}; the first: {first.words}"
    )
    return replace(
        first,
        kind="often",
        ends=last.ends,
        goes_on=last.goes_on,
        rules=rules,
        label=f"{first.label}{often}",
        words=words,
    )
