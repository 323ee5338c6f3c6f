"""The difference within a node in flow style, as JSON is.

Entries in their place, new ones behind the last.
"""

import re
from collections.abc import Iterator

from krm_windows.krm import layout, lines, writer
from krm_windows.krm.layout import Leaf, Pairs, Row, Spot
from krm_windows.krm.nodes import Value
from krm_windows.krm.patches import NotMinimalError, Patch, meaning, name_of, same

# What may be without quotes in a flow collection.
# What this does not match is quoted, which is never wrong.
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
    is_bare = isinstance(spot, Leaf) and not spot.style and spot.text
    if is_bare and isinstance(wanted, str) and _may_stand_bare(wanted):
        return wanted
    return writer.flow(wanted)


def _may_stand_bare(text: str) -> bool:
    return _WORD.match(text) is not None and writer.is_plain(text)


def _pairs(
    text: str,
    spot: Pairs,
    wanted: dict[str, Value],
) -> Iterator[Patch]:
    """Compare a mapping: entries in their place, new ones behind the last."""
    names = [_name(text, key) for key, _ in spot.entries]
    kept = [name in wanted for name in names]
    if not any(kept):
        raise NotMinimalError
    for (_, entry), name in zip(spot.entries, names, strict=True):
        # A value is compared within, so that a deep change leaves what is around it.
        if name in wanted:
            yield from _value(text, entry, wanted[name])
    starts = [key.start for key, _ in spot.entries]
    ends = [entry.end for _, entry in spot.entries]
    yield from _removed(starts, ends, kept)
    added = []
    for name, value in wanted.items():
        # In JSON a key has quotes, and to YAML they do no harm.
        if name not in names:
            added.append(f"{writer.quote(name)}: {writer.flow(value)}")
    yield from _appended(text, starts[-1], ends[-1], added)


def _name(text: str, key: Spot) -> str:
    """Give the name of an ordinary key: none that is merged, and none without a colon (`{key}`)."""
    if layout.is_merge(key) or not _COLON.match(text, key.end):
        raise NotMinimalError
    return name_of(key)


def _value(text: str, spot: Spot, wanted: Value) -> Iterator[Patch]:
    """Give the patches of a value behind a colon, which may be there without a blank."""
    # `{a:, b: 1}`: a value of no characters is null.
    is_empty = spot.start == spot.end
    for patch in _node(text, spot, wanted):
        if is_empty:
            yield Patch(patch.start, patch.end, f" {patch.text}")
        else:
            yield patch


def _row(text: str, spot: Row, wanted: list[Value]) -> Iterator[Patch]:
    """Compare a sequence, item by item in order."""
    # Where the lists are of different lengths, what is left over is removed or appended below.
    for item, entry in zip(spot.items, wanted, strict=False):
        yield from _node(text, item, entry)
    starts = [item.start for item in spot.items]
    ends = [item.end for item in spot.items]
    kept = [index < len(wanted) for index in range(len(starts))]
    yield from _removed(starts, ends, kept)
    added = [writer.flow(entry) for entry in wanted[len(starts) :]]
    yield from _appended(text, starts[-1], ends[-1], added)


def _removed(
    starts: list[int],
    ends: list[int],
    kept: list[bool],
) -> Iterator[Patch]:
    """Remove entries with the comma behind them, those at the end with the comma before them."""
    # The last one that stays: the commas before it are still needed.
    last = max(index for index, keep in enumerate(kept) if keep)
    for index in range(last):
        if not kept[index]:
            yield Patch(starts[index], starts[index + 1], "")
    if last < len(kept) - 1:
        # From the end of the last that stays: its comma goes, too.
        yield Patch(ends[last], ends[-1], "")


def _appended(
    text: str,
    start: int,
    end: int,
    added: list[str],
) -> Iterator[Patch]:
    """Add entries behind the last one, each on its own line if that one begins a line."""
    # JSON over several lines goes on over several lines.
    begin = lines.start(text, start)
    pad = text[begin:start]
    separator = ", "
    if begin and not pad.strip():
        separator = f",{lines.newline(text)}{pad}"
    yield Patch(end, end, "".join(separator + entry for entry in added))
