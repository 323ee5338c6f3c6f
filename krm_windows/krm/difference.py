"""The difference between the layout of a text and a wanted value, as patches of the text."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple, TypeAlias

from krm_windows.krm import layout, lines, writer
from krm_windows.krm.layout import Leaf, Pairs, Row, Spot
from krm_windows.krm.nodes import Value
from krm_windows.krm.patches import NotMinimalError, Patch, meaning, name_of, same

Change: TypeAlias = tuple[Value, Value]
Entries: TypeAlias = tuple[tuple[Spot, Spot], ...]


class Slot(NamedTuple):
    """The place of a node in block style: all that is behind `head`, which is `key:` or `-`.

    `head` begins at `column`, and ends at the place `after`.
    """

    after: int
    column: int
    head: str


# Behind a key: `name :` is as good as `name:`.
_COLON = re.compile(r"[ \t]*:")
# Dashes and blanks before a key or a dash, such as those of `- - name: x`.
_LEAD = re.compile(r"(?: |-(?= ))*\Z")
# What may be between two entries.
_SPACE = re.compile(r"\s*")


class Difference(NamedTuple):
    """Compares the layout of `text` with a value.

    Nodes at `depth` (None: at none) are written as a whole.
    """

    text: str
    depth: int | None = None

    def of_document(self, root: Spot, wanted: Value) -> list[Patch]:
        """Give the patches for a document; of a list with one entry, only the entry changes."""
        # An entry of the items: a list of one, whose dash stays.
        if (
            isinstance(root, Row)
            and isinstance(wanted, list)
            and not root.flow
            and len(root.items) == len(wanted) == 1
        ):
            slot = next(self._elements(root))
            entry = root.items[0]
            return self._of_node(entry, (meaning(entry), wanted[0]), slot, 0)
        return self._of_node(root, (meaning(root), wanted), None, 0)

    def _of_node(
        self,
        spot: Spot,
        change: Change,
        slot: Slot | None,
        level: int,
    ) -> list[Patch]:
        """Give what has to change in a node; all of it where less would not do."""
        old, wanted = change
        if same(old, wanted):
            return []
        # Deeper than `depth` everything is written anew (see `edits`).
        if self.depth is None or level < self.depth:
            with suppress(NotMinimalError):
                return list(self._within(spot, old, wanted, level))
        return list(self._instead(spot, wanted, slot))

    def _within(
        self,
        spot: Spot,
        old: Value,
        wanted: Value,
        level: int,
    ) -> Iterable[Patch]:
        """Give the patches inside of a collection that stays one."""
        if spot.flow:
            # Few documents have such nodes where something is edited.
            from krm_windows.krm import flow_difference  # noqa: PLC0415

            return flow_difference.patches(self.text, spot, wanted)
        if not wanted:
            # An empty collection has no block style.
            raise NotMinimalError
        if isinstance(spot, Pairs) and isinstance(old, dict) and isinstance(wanted, dict):
            return self._pairs(spot, old, wanted, level)
        if isinstance(spot, Row) and isinstance(old, list) and isinstance(wanted, list):
            return self._row(spot, old, wanted, level)
        raise NotMinimalError

    def _pairs(
        self,
        spot: Pairs,
        old: dict[str, Value],
        wanted: dict[str, Value],
        level: int,
    ) -> Iterator[Patch]:
        """Compare a mapping: entries in place, new ones behind the last, removed ones gone."""
        column = self._column(spot.entries[0][0].start)
        # A merge key (`<<`) stays: what it brings in is read in `_added`.
        kept = [layout.is_merge(key) or name_of(key) in wanted for key, _ in spot.entries]
        # Without an entry that stays there is no line to go by: the mapping is written anew.
        if not any(kept):
            raise NotMinimalError
        for (key, entry), keep in zip(spot.entries, kept, strict=True):
            if not keep or layout.is_merge(key):
                continue
            name = name_of(key)
            slot = self._value_slot(key, column)
            yield from self._of_node(entry, (old[name], wanted[name]), slot, level + 1)
        # Patches may come in any order: they are sorted by their place.
        yield from self._removed_entries(spot.entries, kept, column)
        added = _added(spot, old, wanted)
        if added:
            foot = lines.foot(self.text, spot.end, column)
            yield self._insertion(foot, writer.lines(added), column)

    def _row(
        self,
        spot: Row,
        old: list[Value],
        wanted: list[Value],
        level: int,
    ) -> Iterator[Patch]:
        """Compare a sequence: what is the same at both ends stays, the rest in order."""
        slots = list(self._elements(spot))
        # So an entry that is put in at the front leaves the rest as it is.
        first, last = common_ends(old, wanted)
        before = old[first : len(old) - last]
        after = wanted[first : len(wanted) - last]
        items = spot.items[first : len(old) - last]
        places = slots[first : len(old) - last]
        # An image or an argument in the middle of a list: compared with what is at its place.
        for item, slot, was, becomes in zip(items, places, before, after, strict=False):
            yield from self._of_node(item, (was, becomes), slot, level + 1)
        # More are there than are wanted: the last ones go.
        for item, slot in zip(items[len(after) :], places[len(after) :], strict=True):
            yield self._removed_lines(slot.after - 1, item.end, slot.column)
        added = after[len(items) :]
        if added:
            # How many items of the text are before what is added.
            above = first + len(items)
            if above:
                place = self._behind(spot.items[above - 1], slots)
            else:
                place = self._above_first(slots)
            yield self._insertion(place, writer.lines(added), slots[0].column)

    def _behind(self, item: Spot, slots: list[Slot]) -> int:
        """Give where lines behind an item of a sequence go."""
        return lines.foot(self.text, item.end, slots[0].column + 1)

    def _above_first(self, slots: list[Slot]) -> int:
        """Give where lines above the first item of a sequence go."""
        # `key: - a` or `- - a`: there is no line above that is its own.
        self._need_own_line(slots[0].after - 1)
        return lines.above(self.text, slots[0].after - 1)

    def _elements(self, spot: Row) -> Iterator[Slot]:
        dashes = lines.dashes(self.text, spot.start, (item.end for item in spot.items))
        column: int | None = None
        for dash in dashes:
            # All dashes of a sequence are at the column of the first.
            if column is None:
                column = self._column(dash)
            yield Slot(dash + 1, column, "-")

    def _value_slot(self, key: Spot, column: int) -> Slot:
        colon = _COLON.match(self.text, key.end)
        if colon is None:
            raise NotMinimalError
        return Slot(colon.end(), column, "key:")

    def _column(self, place: int) -> int:
        """Give the column of a key or dash, which must begin its line or follow dashes."""
        begin = lines.start(self.text, place)
        # `- - key` is fine, `{a: key` is not.
        if not _LEAD.match(self.text[begin:place]):
            raise NotMinimalError
        return place - begin

    def _need_own_line(self, place: int) -> None:
        if self.text[lines.start(self.text, place) : place].strip(" "):
            raise NotMinimalError

    def _removed_entries(
        self,
        entries: Entries,
        kept: list[bool],
        column: int,
    ) -> Iterator[Patch]:
        """Remove entries with their lines.

        The first one may share its line with a dash (`- name: x`): then the next that stays takes
        its place, and what was before that goes as one piece.
        """
        first = entries[0][0].start
        begin = lines.start(self.text, first)
        leading = 0
        # Something is before it on its line, such as a dash.
        if self.text[begin:first].strip(" "):
            leading = kept.index(True)
        if leading:
            _, last = entries[leading - 1]
            end = lines.foot(self.text, last.end, column + 1)
            space = _SPACE.match(self.text, end)
            if space:
                end = space.end()
            yield Patch(first, end, "")
        for (key, entry), keep in zip(entries[leading:], kept[leading:], strict=True):
            if not keep:
                yield self._removed_lines(key.start, entry.end, column)

    def _removed_lines(
        self,
        start: int,
        end: int,
        column: int,
    ) -> Patch:
        """Remove the lines of an entry, and the comments below it that are deeper than it."""
        self._need_own_line(start)
        stop = lines.foot(self.text, end, column + 1)
        # With the break before it, or on the first line with the one behind it.
        if lines.start(self.text, start):
            return Patch(lines.before(self.text, start), stop, "")
        following = lines.BREAK.match(self.text, stop)
        if following:
            stop = following.end()
        return Patch(0, stop, "")

    def _insertion(
        self,
        place: int,
        block: Iterable[str],
        column: int,
    ) -> Patch:
        """Insert lines behind the line that ends at `place`."""
        return Patch(place, place, self._lines(block, column))

    def _lines(self, block: Iterable[str], column: int) -> str:
        line_break = lines.newline(self.text)
        pad = " " * column
        pieces = []
        for line in block:
            pieces.append(line_break)
            # An empty line of a text gets no blanks at its end.
            if line:
                pieces.append(pad + line)
        return "".join(pieces)

    def _instead(
        self,
        spot: Spot,
        wanted: Value,
        slot: Slot | None,
    ) -> Iterator[Patch]:
        """Write a value in place of a node; a comment on the line of its key stays."""
        if slot is None:
            yield self._root(spot, wanted)
            return
        first, *rest = writer.entry_lines(slot.head, wanted)
        suffix = first.removeprefix(slot.head)
        # A text of several lines is written as a block, which has no quotes.
        if not rest:
            suffix = _in_style_of(spot, wanted) or suffix
        # What does not fit on the line of the head.
        below = self._lines(rest, slot.column)
        stop = lines.end(self.text, spot.end)
        line_end = lines.end(self.text, slot.after)
        if spot.start > line_end:
            # The old value is below the line of its key.
            yield Patch(slot.after, slot.after, suffix)
            yield Patch(line_end, stop, below)
            return
        # The blanks before the old value stay, however many there are.
        start = slot.after
        if suffix:
            start = spot.start
        if start > slot.after:
            suffix = suffix[1:]
        yield Patch(start, spot.end, suffix)
        yield Patch(stop, stop, below)

    def _root(self, spot: Spot, wanted: Value) -> Patch:
        # An empty collection has no block style.
        if spot.flow or not wanted:
            return Patch(spot.start, spot.end, writer.flow(wanted))
        column = self._column(spot.start)
        # The first line is where the root began, behind its own indentation.
        block = self._lines(writer.lines(wanted), column)
        return Patch(spot.start, spot.end, block.lstrip())


def _in_style_of(spot: Spot, wanted: Value) -> str:
    """Write a string in the quotes of the one that it replaces.

    Empty where that is not possible.
    """
    if not isinstance(spot, Leaf) or not isinstance(wanted, str):
        return ""
    # An anchor or a tag is before the quotes, and is written anew with them.
    if spot.anchor or spot.tag:
        return ""
    # In single quotes a quote is written twice (YAML 1.2.2, 7.3.2).
    if spot.style == "'" and _is_simple(wanted):
        doubled = wanted.replace("'", "''")
        return f" '{doubled}'"
    if spot.style == '"':
        return f" {writer.quote(wanted)}"
    return ""


def _is_simple(text: str) -> bool:
    """Say whether a single-quoted text may hold this on one line."""
    if text.isascii():
        return text.isprintable()
    return _simple().match(text) is not None


# Made when a text first asks for it: of a wide range `re` makes a table, which takes long.
@cache
def _simple() -> re.Pattern[str]:
    return re.compile(r"[ -~\xa1-\u2027\u202a-\ud7ff]*\Z")


def _added(
    spot: Pairs,
    old: dict[str, Value],
    wanted: dict[str, Value],
) -> dict[str, Value]:
    """Give the entries to be written: those that neither are there nor are merged as wanted."""
    explicit = {name_of(key) for key, _ in spot.entries if not layout.is_merge(key)}
    inherited = {name: entry for name, entry in old.items() if name not in explicit}
    # What a merge key (`<<`) brings in cannot be removed here.
    if inherited.keys() - wanted.keys():
        raise NotMinimalError
    added = {}
    for name, entry in wanted.items():
        is_merged = name in inherited and same(inherited[name], entry)
        if name not in explicit and not is_merged:
            added[name] = entry
    return added


def common_ends(old: list[Value], wanted: list[Value]) -> tuple[int, int]:
    """Count the values that two lists share at their beginnings, and then at their ends."""
    shorter = min(len(old), len(wanted))
    first = _common(old, wanted, shorter)
    # What is counted at the beginning is not counted again at the end: of [a, a] and [a], one.
    last = _common(old[::-1], wanted[::-1], shorter - first)
    return first, last


def _common(old: list[Value], wanted: list[Value], most: int) -> int:
    for index in range(most):
        if not same(old[index], wanted[index]):
            return index
    return most
