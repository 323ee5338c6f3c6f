"""Windows too short and too close to be drawn one by one.

One bar says how often it opens, and is no plain "open".
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from operator import itemgetter

from krm_windows.preview.axis import Band
from krm_windows.preview.folding import fold
from krm_windows.preview.picture import Fact, Row
from krm_windows.preview.text import recurring, span

# Of the width of a band: about three pixels of a desk's screen, the least that is seen.
_FINEST = 1 / 300


def bars(row: Row, band: Band) -> list[tuple[int, Fact]]:
    """Return what of a row is drawn in a band, in order.

    Each has the number of the first fact that it represents.
    """
    return sorted(_bars(row, band), key=itemgetter(0))


def _bars(row: Row, band: Band) -> Iterator[tuple[int, Fact]]:
    # Of a week: about half an hour.
    finest = (band.ends - band.begins) * _FINEST
    close: list[tuple[int, Fact]] = []
    for number, fact in row.within(band):
        # Freezes and overrides are few, and each of them matters.
        if fact.kind != "open":
            yield number, fact
            continue
        # A chain: each is close to the one before, however far it is to the first.
        if close and not _touch(close[-1][1], fact, finest):
            yield from _merged(close)
            close = []
        close.append((number, fact))
    yield from _merged(close)


def _touch(one: Fact, following: Fact, finest: timedelta) -> bool:
    """Whether two windows, and the gap between them, are all narrower than can be seen."""
    # One that is wide enough to be seen is drawn on its own, however near the next one is.
    lengths = (
        one.ends - one.begins,
        following.begins - one.ends,
        following.ends - following.begins,
    )
    return all(length < finest for length in lengths)


def _merged(close: Sequence[tuple[int, Fact]]) -> Iterator[tuple[int, Fact]]:
    if len(close) < 2:  # noqa: PLR2004 - one bar stays as it is
        yield from close
        return
    number, first = close[0]
    _, last = close[-1]
    together = timedelta()
    # A dict keeps the order in which rules come first, and each once.
    rules: dict[str, None] = {}
    for _, fact in close:
        together += fact.ends - fact.begins
        rules |= dict.fromkeys(fact.rules)
    within = span(last.ends - first.begins)
    often = f"{len(close):,} times within {within}"
    label = f"{first.label}, {len(close):,} times"
    runs = fold(fact for _, fact in close)
    # Of one rhythm: `, every 10 m, 1,008 times`.
    if len(runs) == 1 and runs[0].is_folded:
        label = f"{first.label}{recurring(runs[0])}"
        often = f"{recurring(runs[0]).removeprefix(', ')}, within {within}"
    words = (
        f"opens {often}, for {span(together)} in all, "
        f"by {', '.join(rules)}; the first: {first.words}"
    )
    bar = replace(
        first,
        kind="often",
        ends=last.ends,
        goes_on=last.goes_on,
        rules=tuple(rules),
        label=label,
        words=words,
    )
    yield number, bar
