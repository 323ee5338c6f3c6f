"""The difference within a node in flow style, as JSON is: entries in their place, new ones behind the last."""

import re
from collections.abc import Iterator

from krm_windows.krm import layout, lines, writer
from krm_windows.krm.layout import Leaf, Pairs, Row, Spot
from krm_windows.krm.nodes import Value
from krm_windows.krm.patches import NotMinimalError, Patch, meaning, name_of, same

_WORD = re.compile(r"[\w./-]+\Z", re.ASCII)
_COLON = re.compile(r"\s*:")


def patches(text: str, spot: Spot, wanted: Value) -> list[Patch]:
    """Give what has to change in a mapping or sequence that has entries, and keeps some."""
    if isinstance(spot, Pairs) and isinstance(wanted, dict) and spot.entries and wanted:
        return list(_pairs(text, spot, wanted))
    if isinstance(spot, Row) and isinstance(wanted, list) and spot.items and wanted:
        return list(_row(text, spot, wanted))
    raise NotMinimalError


def _node(text: str, spot: Spot, wanted: Value) -> list[Patch]:
    """Give what has to change in a node; all of it where less would not do."""
    if same(meaning(spot), wanted):
        return []
    try:
        return patches(text, spot, wanted)
    except NotMinimalError:
        return [Patch(spot.start, spot.end, _written(spot, wanted))]


def _written(spot: Spot, wanted: Value) -> str:
    """Write a value; a word in place of a word without quotes has none either."""
    bare = isinstance(spot, Leaf) and not spot.style and spot.text
    return (
        wanted
        if bare and isinstance(wanted, str) and _WORD.match(wanted) and writer.is_plain(wanted)
        else writer.flow(wanted)
    )


def _pairs(text: str, spot: Pairs, wanted: dict[str, Value]) -> Iterator[Patch]:
    if any(layout.is_merge(key) or not _COLON.match(text, key.end) for key, _ in spot.entries):
        raise NotMinimalError
    kept = [(key, entry) for key, entry in spot.entries if name_of(key) in wanted]
    if not kept:
        raise NotMinimalError
    for key, entry in kept:
        yield from _value(text, entry, wanted[name_of(key)])
    starts = [key.start for key, _ in spot.entries]
    yield from _removed(spot, starts, [name_of(key) in wanted for key, _ in spot.entries])
    known = {name_of(key) for key, _ in spot.entries}
    added = [
        f"{writer.quote(name)}: {writer.flow(entry)}"
        for name, entry in wanted.items()
        if name not in known
    ]
    yield from _appended(text, starts[-1], spot.entries[-1][1].end, added)


def _value(text: str, spot: Spot, wanted: Value) -> Iterator[Patch]:
    """Give the patches of a value behind a colon, which may stand there without a blank."""
    empty = spot.start == spot.end
    for patch in _node(text, spot, wanted):
        yield Patch(patch.start, patch.end, f" {patch.text}") if empty else patch


def _row(text: str, spot: Row, wanted: list[Value]) -> Iterator[Patch]:
    for item, entry in zip(spot.items, wanted, strict=False):
        yield from _node(text, item, entry)
    starts = [item.start for item in spot.items]
    yield from _removed(spot, starts, [index < len(wanted) for index in range(len(starts))])
    added = [writer.flow(entry) for entry in wanted[len(starts) :]]
    yield from _appended(text, starts[-1], spot.items[-1].end, added)


def _removed(spot: Pairs | Row, starts: list[int], kept: list[bool]) -> Iterator[Patch]:
    """Remove entries with the comma behind them, those at the end with the comma before them."""
    ends = (
        [item.end for item in spot.items]
        if isinstance(spot, Row)
        else [entry.end for _, entry in spot.entries]
    )
    last = len(kept) - 1 - kept[::-1].index(True)
    for index in range(last):
        if not kept[index]:
            yield Patch(starts[index], starts[index + 1], "")
    if last < len(kept) - 1:
        yield Patch(ends[last], ends[-1], "")


def _appended(text: str, start: int, end: int, added: list[str]) -> Iterator[Patch]:
    """Add entries behind the last one, each on its own line if that one begins a line."""
    begin = lines.start(text, start)
    pad = text[begin:start]
    separator = f",{lines.newline(text)}{pad}" if begin and not pad.strip() else ", "
    yield Patch(end, end, "".join(separator + entry for entry in added))
