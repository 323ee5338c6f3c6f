"""The difference between the layout of a text and a wanted value, as patches of the text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from krm_windows.krm import flow_difference, layout, lines, writer
from krm_windows.krm.layout import Leaf, Pairs, Row, Spot
from krm_windows.krm.nodes import Value
from krm_windows.krm.patches import NotMinimalError, Patch, meaning, name_of, same

Change: TypeAlias = tuple[Value, Value]
Entries: TypeAlias = tuple[tuple[Spot, Spot], ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a node in block style: all behind `after`, the end of `head` (`key:` or `-`) at `column`."""

    after: int
    column: int
    head: str


_COLON = re.compile(r"[ \t]*:")
_LEAD = re.compile(r"(?: |-(?= ))*\Z")
_SPACE = re.compile(r"\s*")
_SIMPLE = re.compile(r"[ -~\xa1-\u2027\u202a-\ud7ff]*\Z")


@dataclass(frozen=True)
class Difference:
    """Compares the layout of `text` with a value; nodes at `depth` (None: at none) are written as a whole."""

    text: str
    depth: int | None = None

    def of_document(self, root: Spot, wanted: Value) -> list[Patch]:
        """Give the patches for a document: an object, or a list with one entry, in which only the entry changes."""
        if isinstance(root, Row) and not root.flow and isinstance(wanted, list):
            slot = next(self._elements(root))
            return self._of_node(root.items[0], (meaning(root.items[0]), wanted[0]), slot, 0)
        return self._of_node(root, (meaning(root), wanted), None, 0)

    def _of_node(self, spot: Spot, change: Change, slot: Slot | None, level: int) -> list[Patch]:
        """Give what has to change in a node; all of it where less would not do."""
        old, wanted = change
        if same(old, wanted):
            return []
        try:
            if self.depth is None or level < self.depth:
                return list(self._within(spot, old, wanted, level))
        except NotMinimalError:
            pass
        return list(self._instead(spot, wanted, slot))

    def _within(self, spot: Spot, old: Value, wanted: Value, level: int) -> Iterable[Patch]:
        if spot.flow:
            return flow_difference.patches(self.text, spot, wanted)
        if (
            isinstance(spot, Pairs)
            and isinstance(old, dict)
            and isinstance(wanted, dict)
            and wanted
        ):
            return self._pairs(spot, old, wanted, level)
        if isinstance(spot, Row) and isinstance(old, list) and isinstance(wanted, list) and wanted:
            return self._row(spot, old, wanted, level)
        raise NotMinimalError

    def _pairs(
        self, spot: Pairs, old: dict[str, Value], wanted: dict[str, Value], level: int
    ) -> Iterator[Patch]:
        """Compare a mapping: entries in their place, new ones behind the last, removed ones with their lines."""
        column = self._column(spot.entries[0][0].start)
        kept = [name_of(key) in wanted or layout.is_merge(key) for key, _ in spot.entries]
        if not any(kept):
            raise NotMinimalError
        for (key, entry), keep in zip(spot.entries, kept, strict=True):
            if keep and not layout.is_merge(key):
                name = name_of(key)
                yield from self._of_node(
                    entry, (old[name], wanted[name]), self._value_slot(key, column), level + 1
                )
        yield from self._removed_entries(spot.entries, kept, column)
        if added := _added(spot, old, wanted):
            yield self._insertion(
                lines.foot(self.text, spot.end, column), writer.lines(added), column
            )

    def _row(self, spot: Row, old: list[Value], wanted: list[Value], level: int) -> Iterator[Patch]:
        """Compare a sequence: what is the same at both ends stays, the rest is compared in order."""
        slots = list(self._elements(spot))
        first, last = common_ends(old, wanted)
        middle, new = spot.items[first : len(old) - last], wanted[first : len(wanted) - last]
        for item, slot, *change in zip(middle, slots[first:], old[first:], new, strict=False):
            yield from self._of_node(item, (change[0], change[1]), slot, level + 1)
        for slot, item in list(zip(slots[first:], middle, strict=False))[len(new) :]:
            yield self._removed_lines(slot.after - 1, item.end, slot.column)
        if added := new[len(middle) :]:
            before = first + len(middle) - 1
            column = slots[0].column
            yield self._insertion(self._behind(spot, slots, before), writer.lines(added), column)

    def _behind(self, spot: Row, slots: list[Slot], index: int) -> int:
        """Give where lines behind an element of a sequence go; behind index -1 is above the first one."""
        if index >= 0:
            return lines.foot(self.text, spot.items[index].end, slots[0].column + 1)
        self._need_own_line(slots[0].after - 1)
        return lines.above(self.text, slots[0].after - 1)

    def _elements(self, spot: Row) -> Iterator[Slot]:
        dashes = lines.dashes(self.text, spot.start, (item.end for item in spot.items))
        column: int | None = None
        for dash in dashes:
            column = self._column(dash) if column is None else column
            yield Slot(dash + 1, column, "-")

    def _value_slot(self, key: Spot, column: int) -> Slot:
        colon = _COLON.match(self.text, key.end)
        if colon is None:
            raise NotMinimalError
        return Slot(colon.end(), column, "key:")

    def _column(self, place: int) -> int:
        """Give the column of a key or dash, which must begin its line or follow dashes."""
        begin = lines.start(self.text, place)
        if not _LEAD.match(self.text[begin:place]):
            raise NotMinimalError
        return place - begin

    def _need_own_line(self, place: int) -> None:
        if self.text[lines.start(self.text, place) : place].strip(" "):
            raise NotMinimalError

    def _removed_entries(self, entries: Entries, kept: list[bool], column: int) -> Iterator[Patch]:
        first = entries[0][0].start
        shared = bool(self.text[lines.start(self.text, first) : first].strip(" "))
        leading = kept.index(True) if shared else 0
        if leading:
            end = lines.foot(self.text, entries[leading - 1][1].end, column + 1)
            space = _SPACE.match(self.text, end)
            yield Patch(first, space.end() if space else end, "")
        for (key, entry), keep in list(zip(entries, kept, strict=True))[leading:]:
            if not keep:
                yield self._removed_lines(key.start, entry.end, column)

    def _removed_lines(self, start: int, end: int, column: int) -> Patch:
        """Remove the lines of an entry, and the comments below it that are deeper than it."""
        self._need_own_line(start)
        stop = lines.foot(self.text, end, column + 1)
        if lines.start(self.text, start):
            return Patch(lines.before(self.text, start), stop, "")
        following = lines.BREAK.match(self.text, stop)
        return Patch(0, following.end() if following else stop, "")

    def _insertion(self, place: int, block: Iterable[str], column: int) -> Patch:
        """Insert lines behind the line that ends at `place`."""
        return Patch(place, place, self._lines(block, column))

    def _lines(self, block: Iterable[str], column: int) -> str:
        line_break, pad = lines.newline(self.text), " " * column
        return "".join(f"{line_break}{pad}{line}" if line else line_break for line in block)

    def _instead(self, spot: Spot, wanted: Value, slot: Slot | None) -> Iterator[Patch]:
        """Write a value in place of a node; a comment on the line of its key stays."""
        if slot is None:
            yield self._root(spot, wanted)
            return
        first, *rest = writer.entry_lines(slot.head, wanted)
        suffix = _in_style_of(spot, wanted) or first.removeprefix(slot.head)
        below = self._lines(rest, slot.column)
        stop = lines.end(self.text, spot.end)
        if spot.start > (line_end := lines.end(self.text, slot.after)):
            yield Patch(slot.after, slot.after, suffix)
            yield Patch(line_end, stop, below)
            return
        start = spot.start if suffix else slot.after
        yield Patch(start, spot.end, suffix[1:] if start > slot.after else suffix)
        yield Patch(stop, stop, below)

    def _root(self, spot: Spot, wanted: Value) -> Patch:
        if spot.flow or not wanted:
            return Patch(spot.start, spot.end, writer.flow(wanted))
        column = self._column(spot.start)
        return Patch(spot.start, spot.end, self._lines(writer.lines(wanted), column).lstrip())


def _in_style_of(spot: Spot, wanted: Value) -> str:
    """Write a string in the quotes of the one that it replaces; empty where that is not possible."""
    if not isinstance(spot, Leaf) or not isinstance(wanted, str) or spot.anchor or spot.tag:
        return ""
    if spot.style == "'" and _SIMPLE.match(wanted):
        return " '" + wanted.replace("'", "''") + "'"
    return f" {writer.quote(wanted)}" if spot.style == '"' else ""


def _added(spot: Pairs, old: dict[str, Value], wanted: dict[str, Value]) -> dict[str, Value]:
    """Give the entries to be written: those that neither stand there nor are merged with the value wanted."""
    explicit = {name_of(key) for key, _ in spot.entries if not layout.is_merge(key)}
    inherited = {name: entry for name, entry in old.items() if name not in explicit}
    if inherited.keys() - wanted.keys():
        raise NotMinimalError
    known = {name for name, entry in inherited.items() if same(entry, wanted[name])} | explicit
    return {name: entry for name, entry in wanted.items() if name not in known}


def common_ends(old: list[Value], wanted: list[Value]) -> tuple[int, int]:
    """Count the values that two lists have in common at their beginnings, and then at their ends."""
    shorter = min(len(old), len(wanted))
    first = next((i for i in range(shorter) if not same(old[i], wanted[i])), shorter)
    rest = shorter - first
    last = next((i for i in range(rest) if not same(old[-1 - i], wanted[-1 - i])), rest)
    return first, last
