"""Edits: a text with another value at a path, and no line changed that already says so.

The wanted value is compared with the nodes of the text, and only where they differ is something
written: a value in its place, an entry behind the last one, an entry removed with its lines. The
result is read again, and is given only if it means exactly what was asked for; else a larger node
is written anew, up to the whole object.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from krm_windows.krm import layout, limits, lines, nodes, writer
from krm_windows.krm.errors import EditError, InputError
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, Value

Path: TypeAlias = tuple[str | int, ...]

# Each level at which a larger node is written is a reading of the text; an object of Kubernetes has
# some ten levels.
_LEVELS = 17
_COLON = re.compile(r"[ \t]*:")
# What may be without quotes in a flow collection.
_WORD = re.compile(r"[\w./-]+\Z", re.ASCII)


class _Gone:
    """In the place of a value that is removed."""


class _NotMinimalError(Exception):
    """A change that cannot be made within this node: it is written as a whole."""


class _Patch(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


class _Slot(NamedTuple):
    """The place of a node in block style: all that is behind `head`, which is `key:` or `-`.

    `head` begins at `column`, and ends at the place `after`.
    """

    after: int
    column: int
    head: str


def set_value(text: str, path: Path, content: object) -> str:
    """Give `text` with `content` at `path`, missing mappings made.

    Raises EditError where the path leads nowhere.
    """
    root = layout.read(text)
    # There and back, so that what is compared are values of the same few types.
    wanted = nodes.value(nodes.node_of(content))
    return _rewritten(text, root, _changed(nodes.value(root), path, wanted))


def remove(text: str, path: Path) -> str:
    """Give `text` without the entry at `path`; raises EditError where there is none."""
    # Without steps it would be the whole text.
    if not path:
        raise EditError("a path of no steps leads to no entry, so nothing can be removed")
    root = layout.read(text)
    return _rewritten(text, root, _changed(nodes.value(root), path, _Gone()))


def canonical(value: Value) -> str:
    """Give a text that is the same for the same values."""
    # JSON distinguishes 1, 1.0 and true, which Python calls equal.
    return json.dumps(value, sort_keys=True)


def _changed(old: Value, path: Path, content: "Value | _Gone") -> Value:
    """Give `old` with another value at `path`, or without it."""
    step, *rest = path or (None,)
    gone = isinstance(content, _Gone)
    if step is None:
        # What is gone is taken out by the caller.
        return None if isinstance(content, _Gone) else content
    # A mapping that is missing on the way is made.
    inside = {} if old is None and isinstance(step, str) and not gone else old
    if isinstance(inside, dict) and isinstance(step, str) and (step in inside or not gone):
        entries = {**inside, step: _changed(inside.get(step), tuple(rest), content)}
        if gone and not rest:
            del entries[step]
        return entries
    # An index right behind the last item adds one.
    if isinstance(inside, list) and isinstance(step, int) and 0 <= step <= len(inside) - gone:
        items = [*inside, None][: max(len(inside), step + 1)]
        items[step] = _changed(items[step], tuple(rest), content)
        if gone and not rest:
            del items[step]
        return items
    if gone:
        raise EditError(f"{step!r} not found, so it cannot be removed")
    kind = "list of that length" if isinstance(step, int) else "mapping"
    raise EditError(f"{step!r} cannot be set: it is not in a {kind}")


def _rewritten(text: str, root: Node, wanted: Value) -> str:
    """Give a text that means `wanted`: the smallest change that is proven to do so."""
    sought = canonical(wanted)
    # Also where it is spelt in another way: `"a"` for `a`.
    if canonical(nodes.value(root)) == sought:
        return text
    for edited in _attempts(text, root, wanted):
        # Nothing is believed that was not read again.
        if _means(edited, sought):
            return edited
    raise EditError("the layout of this object cannot be edited")


def _attempts(text: str, root: Node, wanted: Value) -> Iterator[str]:
    """Yield first the smallest change, then those with larger and larger nodes written anew."""
    patches = _Editor(text, limits.DEPTH).document(root, wanted)
    yield _apply(text, patches)
    # An alias must not change with the node that it stands for.
    yield _apply(text, [*patches, *_expansions(text, root)])
    for depth in reversed(range(_LEVELS)):
        yield _apply(text, _Editor(text, depth).document(root, wanted))


def _expansions(text: str, node: Node) -> Iterator[_Patch]:
    """Write out every alias."""
    if text[node.start : node.start + 1] == "*":
        yield _Patch(node.start, node.end, writer.flow(nodes.value(node)))
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _expansions(text, item)
    elif isinstance(node, Mapping):
        for key, entry in node.entries[: len(node.entries) - node.inherited]:
            yield from _expansions(text, key)
            yield from _expansions(text, entry)


def _means(text: str, sought: str) -> bool:
    try:
        return canonical(nodes.value(layout.read(text))) == sought
    except InputError:
        return False


def _apply(text: str, patches: Iterable[_Patch]) -> str:
    pieces: list[str] = []
    place = 0
    # Sorting is stable: of two at one place the first stays the first.
    for patch in sorted(patches, key=lambda patch: patch[:2]):
        # Within what is written anew there is nothing left to change.
        if patch.start >= place:
            pieces += [text[place : patch.start], patch.text]
        place = max(place, patch.end)
    return "".join([*pieces, text[place:]])


class _Editor(NamedTuple):
    """Compares the nodes of a text with a value; nodes at `depth` are written as a whole."""

    text: str
    depth: int

    def document(self, root: Node, wanted: Value) -> list[_Patch]:
        """Give the patches for a document."""
        try:
            # The entry of a ResourceList is a list of one, whose dash stays.
            if (
                isinstance(root, Sequence)
                and isinstance(wanted, list)
                and not root.flow
                and len(root.items) == len(wanted) == 1
            ):
                [item] = root.items
                return self._node(item, wanted[0], self._item_slot(item), 0)
            return self._node(root, wanted, None, 0)
        except _NotMinimalError:
            # Then a larger node is written, or nothing is.
            return []

    def _node(self, node: Node, wanted: Value, slot: _Slot | None, level: int) -> list[_Patch]:
        """Give what has to change in a node; all of it where less would not do."""
        if canonical(nodes.value(node)) == canonical(wanted):
            return []
        try:
            return list(self._within(node, wanted, slot, level))
        except _NotMinimalError:
            return list(self._instead(node, wanted, slot))

    def _within(
        self, node: Node, wanted: Value, slot: _Slot | None, level: int
    ) -> Iterator[_Patch]:
        """Give the patches inside of a collection that stays one and has something in it."""
        if level >= self.depth or not wanted:
            raise _NotMinimalError
        if isinstance(node, Mapping) and isinstance(wanted, dict) and node.entries:
            yield from self._mapping(node, wanted, level)
        elif isinstance(node, Sequence) and isinstance(wanted, list) and node.items:
            yield from self._sequence(node, wanted, slot, level)
        else:
            raise _NotMinimalError

    def _mapping(self, node: Mapping, wanted: dict[str, Value], level: int) -> Iterator[_Patch]:
        """Compare a mapping: entries in place, new ones behind the last, removed ones gone."""
        own = node.entries[: len(node.entries) - node.inherited]
        inherited = {key.text: nodes.value(entry) for key, entry in node.entries[len(own) :]}
        # What a merge key (`<<`) brings in cannot be removed here, and an alias is edited nowhere.
        if not own or inherited.keys() - wanted.keys() or not _is_inside(own[0][0], node):
            raise _NotMinimalError
        for key, entry in own:
            if key.text in wanted:
                slot = None if node.flow else self._value_slot(key)
                yield from self._node(entry, wanted[key.text], slot, level + 1)
        kept = [key.text in wanted for key, _ in own]
        ends = [entry.end for _, entry in own]
        yield from self._removed([key.start for key, _ in own], ends, kept, flow=node.flow)
        names = {key.text for key, _ in own}
        added = {
            name: entry
            for name, entry in wanted.items()
            if name not in names
            and not (name in inherited and canonical(inherited[name]) == canonical(entry))
        }
        if added and node.flow:
            yield self._flow_entries(node, own[-1][0].start, ends[-1], added)
        elif added:
            column = self._column(own[0][0].start)
            place = lines.foot(self.text, ends[-1], column)
            yield self._insertion(place, writer.lines(added), column)

    def _sequence(
        self, node: Sequence, wanted: list[Value], slot: _Slot | None, level: int
    ) -> Iterator[_Patch]:
        """Compare a sequence: what is the same at both ends stays, the rest in order."""
        if not _is_inside(node.items[0], node):
            raise _NotMinimalError
        slots = [None if node.flow else self._item_slot(item) for item in node.items]
        # So an entry that is put in at the front leaves the rest as it is.
        old = [nodes.value(item) for item in node.items]
        first = _common(old, wanted)
        last = _common(old[first:][::-1], wanted[first:][::-1])
        becomes = wanted[first : len(wanted) - last]
        until = len(old) - last
        for index, entry in zip(range(first, until), becomes, strict=False):
            yield from self._node(node.items[index], entry, slots[index], level + 1)
        kept = [not first + len(becomes) <= index < until for index in range(len(old))]
        begins = [
            place.after - 1 if place else item.start
            for place, item in zip(slots, node.items, strict=True)
        ]
        yield from self._removed(begins, [item.end for item in node.items], kept, flow=node.flow)
        added = becomes[until - first :]
        if not added:
            return
        if node.flow:
            # In the middle of such a list: it is written as a whole.
            if until < len(old):
                raise _NotMinimalError
            yield self._flow_entries(node, node.items[-1].start, node.items[-1].end, added)
            return
        column = self._column(begins[0])
        if until:
            place = lines.foot(self.text, node.items[until - 1].end, column + 1)
        # Above the first item, on the line below its key.
        elif slot and lines.end(self.text, slot.after) < begins[0]:
            place = lines.end(self.text, slot.after)
        else:
            raise _NotMinimalError
        yield self._insertion(place, writer.lines(added), column)

    def _removed(
        self, begins: list[int], ends: list[int], kept: list[bool], *, flow: bool
    ) -> Iterator[_Patch]:
        """Remove entries with their lines, or with a comma of theirs."""
        if not any(kept):
            raise _NotMinimalError
        last = max(index for index, keep in enumerate(kept) if keep)
        for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            line = lines.start(self.text, begin)
            if kept[index]:
                continue
            if flow and index > last:
                yield _Patch(ends[last], end, "")
            # Something is before it on its line, such as a dash: what is next takes its place.
            elif flow or self.text[line:begin].strip(" "):
                yield _Patch(begin, begins[min(index + 1, last)], "")
            else:
                stop = lines.foot(self.text, end, begin - line + 1)
                following = lines.after(self.text, stop)
                # The last line may have no break: then that before it goes.
                if following == stop:
                    line = lines.end(self.text, line - 1)
                yield _Patch(line, following, "")

    def _instead(self, node: Node, wanted: Value, slot: _Slot | None) -> Iterator[_Patch]:
        """Write a node as a whole."""
        is_flow = not isinstance(node, Scalar) and node.flow and node.start + 2 < node.end
        if slot is None or (is_flow and isinstance(wanted, dict | list) and wanted):
            yield self._root(node, wanted)
            return
        first, *rest = writer.entry_lines(slot.head, wanted)
        suffix = first.removeprefix(slot.head)
        # A text of several lines is written as a block, which has no quotes.
        if not rest and isinstance(node, Scalar) and isinstance(wanted, str):
            suffix = f" {_in_style_of(node, wanted)}"
        below = self._below(rest, slot.column)
        stop = lines.end(self.text, node.end)
        line_end = lines.end(self.text, slot.after)
        if node.start > line_end:
            # The old value is below the line of its key.
            yield _Patch(slot.after, slot.after, suffix)
            yield _Patch(line_end, stop, below)
            return
        # The blanks before the old value stay, however many there are.
        if suffix and node.start > slot.after:
            yield _Patch(node.start, node.end, suffix[1:])
        else:
            yield _Patch(slot.after, node.end, suffix)
        yield _Patch(stop, stop, below)

    def _root(self, node: Node, wanted: Value) -> _Patch:
        """Write a node in flow style, or a root."""
        # An empty collection has no block style.
        if (
            isinstance(node, Scalar)
            or node.flow
            or not isinstance(wanted, dict | list)
            or not wanted
        ):
            blank = " " if node.start == node.end else ""
            return _Patch(node.start, node.end, blank + self._inline(node, wanted))
        column = self._column(node.start)
        # The first line is where the root began, behind its own indentation.
        block = self._below(writer.lines(wanted), column)
        return _Patch(node.start, node.end, block.lstrip())

    def _inline(self, node: Node, wanted: Value) -> str:
        """Write a value on one line; words have no quotes where the text had none."""
        if '"' in self.text[node.start : node.end]:
            return writer.flow(wanted)
        return _bare(wanted)

    def _flow_entries(
        self, node: Node, start: int, end: int, added: dict[str, Value] | list[Value]
    ) -> _Patch:
        """Add entries behind the last one, each on its own line if that one begins a line."""
        written = self._inline(node, added)[1:-1]
        begin = lines.start(self.text, start)
        separator = ", "
        if begin and not self.text[begin:start].strip():
            separator = f",{lines.newline(self.text)}{self.text[begin:start]}"
        return _Patch(end, end, separator + written)

    def _value_slot(self, key: Scalar) -> _Slot:
        colon = _COLON.match(self.text, key.end)
        if colon is None:
            raise _NotMinimalError
        return _Slot(colon.end(), self._column(key.start), "key:")

    def _item_slot(self, item: Node) -> _Slot:
        dash = self.text.rindex("-", 0, item.start)
        return _Slot(dash + 1, self._column(dash), "-")

    def _column(self, place: int) -> int:
        """Give the column of a key or dash, which must begin its line or follow dashes."""
        lead = self.text[lines.start(self.text, place) : place]
        if lead.strip(" -"):
            raise _NotMinimalError
        return len(lead)

    def _insertion(self, place: int, added: list[str], column: int) -> _Patch:
        return _Patch(place, place, self._below(added, column))

    def _below(self, added: list[str], column: int) -> str:
        """Give lines with a break before each."""
        newline = lines.newline(self.text)
        pad = " " * column
        return "".join(newline + (pad + line if line else "") for line in added)


def _is_inside(child: Node, node: Node) -> bool:
    """Say whether a node is where it is read, and not where an alias stands for it."""
    return node.start <= child.start <= node.end


def _common(one: list[Value], other: list[Value]) -> int:
    """Count the values that two lists share at their beginnings."""
    pairs = list(zip(one, other, strict=False))
    differing = (index for index, (a, b) in enumerate(pairs) if canonical(a) != canonical(b))
    return next(differing, len(pairs))


def _in_style_of(node: Scalar, wanted: str) -> str:
    """Write a string in the quotes of the one that it replaces, where that is possible."""
    if node.style == '"':
        return writer.quote(wanted)
    # In single quotes a quote is written twice (YAML 1.2.2, 7.3.2).
    if node.style == "'" and wanted.isascii() and wanted.isprintable():
        doubled = wanted.replace("'", "''")
        return f"'{doubled}'"
    return writer.inline(wanted)


def _bare(wanted: Value) -> str:
    """Write a value in flow style, words without quotes."""
    if isinstance(wanted, dict):
        return "{" + ", ".join(f"{_bare(name)}: {_bare(it)}" for name, it in wanted.items()) + "}"
    if isinstance(wanted, list):
        return "[" + ", ".join(map(_bare, wanted)) + "]"
    if isinstance(wanted, str) and _WORD.match(wanted) and writer.is_plain(wanted):
        return wanted
    return writer.flow(wanted)
