"""Edits: a text with another value at a path, and no line changed that already says so.

The wanted value is compared with the nodes of the text, and only where they differ is something
written: a value in its place, an entry behind another, an entry removed with its lines. The result
is read again, and is given only if it means exactly what was asked for; else the whole object is
written anew.
"""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

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


class _NotMinimalError(Exception):
    """A change that cannot be made within this node: it is written as a whole."""


class _Patch(NamedTuple):
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


class _Entry(NamedTuple):
    """An entry of a collection: it begins at `begin`, and its value is behind `head`.

    The head is `key:` or `-` in block style, and ends at the place `after`; empty in flow style.
    """

    begin: int
    after: int
    head: str
    node: Node


# What becomes of the entries of a collection: their values by their numbers, where those that are
# not in it go; and what comes behind so many of the entries.
_Added: TypeAlias = dict[int, dict[str, Value] | list[Value]]
_Change: TypeAlias = tuple[dict[int, Value], _Added]


def set_value(text: str, path: Path, content: object) -> str:
    """Give `text` with `content` at `path`, missing mappings made.

    Raises EditError where the path leads nowhere.
    """
    root = layout.read(text)
    old = canonical(nodes.value(root))
    # There and back, so that what is compared are values of the same few types.
    wanted = _changed(nodes.value(root), path, json.loads(json.dumps(content)))
    sought = canonical(wanted)
    # Also where it is spelt in another way: `"a"` for `a`.
    if old == sought:
        return text
    for attempt in _attempts(text, root, wanted):
        edited = _apply(text, attempt)
        # Nothing is believed that was not read again.
        if _means(edited, sought):
            return edited
    raise EditError("the layout of this object cannot be edited")


def remove(text: str, path: Path) -> str:
    """Give `text` without the entry at `path`; raises EditError where there is none."""
    # The path says what is a mapping and what a list.
    found: Any = nodes.value(layout.read(text))
    wanted = found
    try:
        *way, last = path
        for step in way:
            found = found[step]
        del found[last]
    except (LookupError, TypeError, ValueError) as error:
        raise EditError(f"{path} not found, so it cannot be removed") from error
    return set_value(text, (), wanted)


def canonical(value: object) -> str:
    """Give a text that is the same for the same values."""
    # JSON distinguishes 1, 1.0 and true, which Python calls equal.
    return json.dumps(value, sort_keys=True)


def _changed(found: Value, path: Path, content: Value) -> Value:
    """Give a value with another one at `path`; it is changed in its place."""
    if not path:
        return content
    step, *rest = path
    # A mapping that is missing on the way is made.
    if found is None and isinstance(step, str):
        found = {}
    if isinstance(found, dict) and isinstance(step, str):
        found[step] = _changed(found.get(step), tuple(rest), content)
    # An index right behind the last item adds one.
    elif isinstance(found, list) and isinstance(step, int) and 0 <= step <= len(found):
        [old] = found[step : step + 1] or [None]
        found[step : step + 1] = [_changed(old, tuple(rest), content)]
    else:
        kind = "list of that length" if isinstance(step, int) else "mapping"
        raise EditError(f"{step!r} cannot be set: it is not in a {kind}")
    return found


def _attempts(text: str, root: Node, wanted: Value) -> Iterator[list[_Patch]]:
    """Yield first the smallest change, then those with larger and larger nodes written anew."""
    entry = _Entry(root.start, 0, "", root)
    patches = list(_Editor(text, limits.DEPTH).node(entry, wanted))
    yield patches
    # An alias must not change with the node that it stands for.
    yield [*patches, *_expansions(text, root)]
    for depth in reversed(range(_LEVELS)):
        yield list(_Editor(text, depth).node(entry, wanted))


def _expansions(text: str, node: Node) -> Iterator[_Patch]:
    """Write out every alias."""
    if text[node.start : node.start + 1] == "*":
        yield _Patch(node.start, node.end, writer.flow(nodes.value(node)))
    elif not isinstance(node, Scalar):
        inside = node.items if isinstance(node, Sequence) else chain.from_iterable(node.own)
        for child in inside:
            yield from _expansions(text, child)


def _means(text: str, sought: str) -> bool:
    try:
        return canonical(nodes.value(layout.read(text))) == sought
    except InputError:
        return False


def _apply(text: str, patches: Iterable[_Patch]) -> str:
    written, place = "", 0
    # Sorting is stable: of two at one place the first stays the first.
    for start, end, new in sorted(patches, key=lambda patch: patch.start):
        # Within what is written anew there is nothing left to change.
        if start >= place:
            written += text[place:start] + new
        place = max(place, end)
    return written + text[place:]


class _Editor(NamedTuple):
    """Compares the nodes of a text with a value; nodes at `depth` are written as a whole."""

    text: str
    depth: int

    def node(self, entry: _Entry, wanted: Value) -> Iterator[_Patch]:
        """Yield what has to change in the value of an entry, all of it where less would not do."""
        if canonical(nodes.value(entry.node)) == canonical(wanted):
            return
        try:
            patches = list(self._inside(entry, wanted))
        except _NotMinimalError:
            patches = [self._instead(entry, wanted)]
        yield from patches

    def _inside(self, entry: _Entry, wanted: Value) -> Iterator[_Patch]:
        """Yield the patches inside of a collection that stays one and keeps an entry."""
        node = entry.node
        if isinstance(node, Mapping) and isinstance(wanted, dict):
            becomes, added = _compared(node, wanted)
            entries = [self._entry(key, it, flow=node.flow) for key, it in node.own]
        elif isinstance(node, Sequence) and isinstance(wanted, list):
            becomes, added = _aligned(node, wanted)
            entries = [self._entry(None, it, flow=node.flow) for it in node.items]
        else:
            raise _NotMinimalError
        # What an alias stands for is edited nowhere but where it is written.
        if not self.depth or not becomes or not node.start <= entries[0].begin <= node.end:
            raise _NotMinimalError
        for number, value in becomes.items():
            yield from _Editor(self.text, self.depth - 1).node(entries[number], value)
        for number in set(range(len(entries))) - becomes.keys():
            yield self._removed(entries, number, max(becomes), flow=node.flow)
        for number, values in added.items():
            yield self._inserted(entry, entries, number, values)

    def _inserted(
        self,
        entry: _Entry,
        entries: list[_Entry],
        number: int,
        added: dict[str, Value] | list[Value],
    ) -> _Patch:
        """Put entries behind the first `number` ones of the value of an entry."""
        node = entry.node
        if node.flow:
            # In the middle of such a list: it is written as a whole.
            if number < len(entries):
                raise _NotMinimalError
            return self._appended(node, entries[-1], added)
        column = self._column(entries[0].begin)
        if number:
            deeper = isinstance(node, Sequence)
            place = lines.foot(self.text, entries[number - 1].node.end, column + deeper)
        else:
            # Above the first one, on the line below its key.
            place = lines.end(self.text, entry.after)
            if not entry.head or place > entries[0].begin:
                raise _NotMinimalError
        return _Patch(place, place, self._below(writer.lines(added), column))

    def _entry(self, key: Scalar | None, value: Node, *, flow: bool) -> _Entry:
        """Give an entry of a mapping, or without a key of a sequence."""
        begin = key.start if key else value.start
        if flow:
            return _Entry(begin, 0, "", value)
        if key is None:
            begin = self.text.rindex("-", 0, begin)
            return _Entry(begin, begin + 1, "-", value)
        # `? key` alone has no colon.
        colon = _COLON.match(self.text, key.end)
        if colon is None:
            raise _NotMinimalError
        return _Entry(begin, colon.end(), "key:", value)

    def _removed(self, entries: list[_Entry], number: int, last: int, *, flow: bool) -> _Patch:
        """Remove an entry with its lines, or with a comma; `last` is that of those that stay."""
        begin, end = entries[number].begin, entries[number].node.end
        line = lines.start(self.text, begin)
        if flow and number > last:
            return _Patch(entries[last].node.end, end, "")
        # Something is before it on its line, such as a dash: what is next takes its place.
        if flow or self.text[line:begin].strip(" "):
            return _Patch(begin, entries[min(number + 1, last)].begin, "")
        stop = lines.foot(self.text, end, begin - line + 1)
        following = lines.after(self.text, stop)
        # The last line may have no break: then that before it goes.
        if following == stop:
            line = lines.end(self.text, line - 1)
        return _Patch(line, following, "")

    def _instead(self, entry: _Entry, wanted: Value) -> _Patch:
        """Write the value of an entry as a whole."""
        text, node, after = self.text, entry.node, entry.after
        is_flow = node.flow and node.start + 2 < node.end
        if not entry.head or (is_flow and isinstance(wanted, dict | list) and wanted):
            return self.whole(node, wanted)
        first, *rest = writer.entry_lines(entry.head, wanted)
        value = first.removeprefix(entry.head)[1:]
        # A text of several lines is written as a block, which has no quotes.
        if isinstance(node, Scalar) and node.style in {"'", '"'} and isinstance(wanted, str):
            value = value if rest else writer.quote(wanted)
        stop, line_end = lines.end(text, node.end), lines.end(text, after)
        # The old value may be below the line of its key; what is behind either stays.
        begin, end = (after, after) if node.start > line_end else (node.start, node.end)
        comment = text[end : line_end if end == after else stop]
        # The blanks before the old value stay, however many there are.
        lead = (text[after:begin] or " ") if value else ""
        return _Patch(
            after, stop, lead + value + comment + self._below(rest, self._column(entry.begin))
        )

    def whole(self, node: Node, wanted: Value) -> _Patch:
        """Write a node in flow style, or a root."""
        # An empty collection has no block style.
        if isinstance(node, Scalar) or node.flow or not wanted:
            blank = " " if node.start == node.end else ""
            return _Patch(node.start, node.end, blank + self._inline(node, wanted))
        # The first line is where the root began, behind its own indentation.
        column = node.start - lines.start(self.text, node.start)
        block = self._below(writer.lines(wanted), column)
        return _Patch(node.start, node.end, block.lstrip())

    def _inline(self, node: Node, wanted: Value) -> str:
        """Write a value on one line; words have no quotes where the text had none."""
        if '"' in self.text[node.start : node.end]:
            return writer.flow(wanted)
        return writer.flow(wanted, _bare)

    def _appended(self, node: Node, last: _Entry, added: dict[str, Value] | list[Value]) -> _Patch:
        """Add entries in flow style, each on its own line if the last one begins a line."""
        lead = self.text[lines.start(self.text, last.begin) : last.begin]
        separator = ", "
        if not lead.strip():
            separator = f",{lines.newline(self.text)}{lead}"
        return _Patch(last.node.end, last.node.end, separator + self._inline(node, added)[1:-1])

    def _column(self, place: int) -> int:
        """Give the column of a key or dash, which must begin its line or follow dashes."""
        lead = self.text[lines.start(self.text, place) : place]
        if lead.strip(" -"):
            raise _NotMinimalError
        return len(lead)

    def _below(self, added: list[str], column: int) -> str:
        """Give lines with a break before each."""
        newline = lines.newline(self.text)
        pad = " " * column
        return "".join(newline + (pad + line if line else "") for line in added)


def _compared(node: Mapping, wanted: dict[str, Value]) -> _Change:
    """Compare a mapping: entries in place, new ones behind the last."""
    found = {key.text: canonical(nodes.value(entry)) for key, entry in node.entries}
    own = [key.text for key, _ in node.own]
    # What a merge key (`<<`) brings in cannot be removed here, but it can be overridden.
    if found.keys() - own - wanted.keys():
        raise _NotMinimalError
    becomes = {number: wanted[name] for number, name in enumerate(own) if name in wanted}
    added = {
        name: it
        for name, it in wanted.items()
        if name not in own and found.get(name) != canonical(it)
    }
    return becomes, ({len(own): added} if added else {})


def _aligned(node: Sequence, wanted: list[Value]) -> _Change:
    """Compare a sequence: what is the same stays, and what is between takes what is wanted."""
    if len(wanted) == len(node.items):
        return dict(enumerate(wanted)), {}
    becomes: dict[int, Value] = {}
    added: _Added = {}
    old, new = [list(map(canonical, values)) for values in (map(nodes.value, node.items), wanted)]
    for _, start, stop, first, last in SequenceMatcher(None, old, new).get_opcodes():
        becomes.update(zip(range(start, stop), wanted[first:last], strict=False))
        if behind := wanted[first + stop - start : last]:
            added[stop] = behind
    return becomes, added


def _bare(text: str) -> str:
    """Write a word without quotes, where it may be."""
    return text if _WORD.match(text) and writer.is_plain(text) else writer.quote(text)
