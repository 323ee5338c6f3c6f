"""The layout of a YAML text: each node with where it begins and ends, and aliases as they are.

Built from the events of libyaml, the parser that kustomize's own was translated from: what is a
line break, where a scalar ends and what is refused are the same there and here. Offsets count
characters of the text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, cast

import yaml

from krm_windows.krm import limits
from krm_windows.krm.errors import ExcessError, InputError
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence

# Looked up by type alone, the cheapest way: a large input has millions of events.
STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)
_BLOCK_STYLES = frozenset("|>")
_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
# What Git puts before and behind the two sides of a conflict (git-merge(1), "How conflicts are
# presented").
_CONFLICT = re.compile(rb"^(?:<{7}|>{7})(?= )", re.MULTILINE)


class Extent(NamedTuple):
    """Where a node is: from its tag or anchor to the last character of its content.

    `line` counts from 1, `column` from 0.
    """

    start: int
    end: int
    line: int
    column: int
    flow: bool = False
    anchor: str | None = None


# Each has the extent's fields for its own, as a large input has millions that are asked for them.
class Spot:
    """A node with its extent; it is never changed, and equal to no other."""

    __slots__ = ("anchor", "column", "end", "flow", "line", "start")

    def __init__(self, extent: Extent) -> None:
        self.start, self.end, self.line, self.column, self.flow, self.anchor = extent


class Leaf(Spot):
    """A scalar; `style` is one of `"`, `'`, `|`, `>` or empty for a plain one."""

    __slots__ = ("style", "tag", "text")

    def __init__(self, extent: Extent, text: str, style: str, tag: str | None) -> None:
        super().__init__(extent)
        self.text = text
        self.style = style
        self.tag = tag


class Pairs(Spot):
    """A mapping; a merge key is still an entry like others."""

    __slots__ = ("entries",)

    def __init__(self, extent: Extent, entries: tuple[tuple[Spot, Spot], ...]) -> None:
        super().__init__(extent)
        self.entries = entries


class Row(Spot):
    """A sequence."""

    __slots__ = ("items",)

    def __init__(self, extent: Extent, items: tuple[Spot, ...]) -> None:
        super().__init__(extent)
        self.items = items


class Alias(Spot):
    """`*name`, and the node that it stands for."""

    __slots__ = ("target",)

    def __init__(self, extent: Extent, target: Spot) -> None:
        super().__init__(extent)
        self.target = target


class Mark(Protocol):
    """A place in a text, all of it counted from 0."""

    index: int
    line: int
    column: int


def starts(event: yaml.Event) -> Mark:
    """Give where an event begins, which libyaml always knows."""
    return cast("Mark", event.start_mark)


def ends(event: yaml.Event) -> Mark:
    """Give where an event ends, which libyaml always knows."""
    return cast("Mark", event.end_mark)


def events(text: str | bytes) -> Iterator[yaml.Event]:
    """Give libyaml's events; raises InputError where the text is no YAML, or nested too deeply."""
    # The depth is read here, for every reader, because libyaml takes longer for a token the
    # deeper it is.
    depth = 0
    try:
        # The parser in C: the one in Python takes many times as long.
        loader = yaml.CSafeLoader(text)
        while (event := loader.get_event()) is not None:
            kind = type(event)
            if kind in STARTS:
                depth += 1
                if depth > limits.DEPTH:
                    raise too_deep(event)
            elif kind in ENDS:
                depth -= 1
            yield event
    except yaml.YAMLError as error:
        raise _unreadable(error, text) from error


def _unreadable(error: yaml.YAMLError, text: str | bytes) -> InputError:
    """Say in one line what libyaml says, and where."""
    conflict = merge_conflict(text)
    if conflict is not None:
        return conflict
    if isinstance(error, yaml.reader.ReaderError):
        # A character that YAML does not have; libyaml counts bytes.
        above = (text.encode() if isinstance(text, str) else text)[: error.position].split(b"\n")
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        return InputError(message, len(above), len(above[-1].decode(errors="replace")) + 1)
    if not isinstance(error, yaml.MarkedYAMLError):
        return InputError(" ".join(str(error).split()))
    mark = cast("Mark | None", error.problem_mark)
    began = cast("Mark | None", error.context_mark)
    # What is open to the end of the text, such as a quote, is wrong where it begins.
    if began and mark and mark.index >= len(text.rstrip()):
        mark = began
    message = " ".join(part for part in (error.problem, error.context) if part)
    return InputError(message, *((mark.line + 1, mark.column + 1) if mark else ()))


def merge_conflict(text: str | bytes) -> InputError | None:
    """Say where Git has left both sides of a merge in a text that cannot be read, if it has."""
    encoded = text.encode() if isinstance(text, str) else text
    found = _CONFLICT.search(encoded)
    if found is None:
        return None
    line = encoded.count(b"\n", 0, found.start()) + 1
    said = "is an unresolved merge conflict: keep one of its two sides, and remove its markers"
    return InputError(f"{found[0].decode()} {said}", line, 1)


def too_deep(event: yaml.Event) -> ExcessError:
    """Say that an event is nested too deep."""
    return _at(event, f"is nested more than {limits.DEPTH} levels deep")


def read(text: str) -> Spot:
    """Give the layout of the one document in `text`.

    Raises InputError unless there is exactly one.
    """
    # Before libyaml takes any time for it.
    limits.check_length(text)
    stream = events(text)
    # The events of a document are StreamStart, DocumentStart, those of its root, DocumentEnd.
    next(stream)
    if not isinstance(next(stream), yaml.DocumentStartEvent):
        raise InputError("there is no document", 1, 1)
    root = _Reader(text, stream).spot(next(stream))
    # The end of the document, which may be marked by `...`.
    next(stream)
    following = next(stream)
    if not isinstance(following, yaml.StreamEndEvent):
        raise InputError("there is a second document", starts(following).line + 1, 1)
    return root


class _Anchored(NamedTuple):
    """A node that aliases may stand for.

    How many nodes and characters it has, and how deep it is.
    """

    spot: Spot
    nodes: int
    length: int
    height: int


class _Reader:
    """Builds spots from events; knows the anchors seen so far, of which an alias means the latest.

    `nodes` and `length` count what was read, and for an alias all that it stands for: the limits
    hold for the document as somebody sees it who follows every alias. An anchor is None while its
    own node is being read.
    """

    def __init__(self, text: str, stream: Iterator[yaml.Event]) -> None:
        self.text = text
        self.stream = stream
        self.anchors: dict[str, _Anchored | None] = {}
        self.nodes = 0
        self.length = 0
        self.depth = 0
        self.deepest = 0

    def spot(self, event: yaml.Event) -> Spot:
        """Read the node that `event` begins."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self.nodes += 1
        if self.nodes > limits.NODES:
            raise _at(event, f"has more than {limits.NODES} nodes")
        anchor = cast("yaml.NodeEvent", event).anchor
        if anchor:
            return self._anchored(event, anchor)
        return self._node(event)

    def _anchored(self, event: yaml.Event, anchor: str) -> Spot:
        """Read a node that has an anchor, and measure it."""
        nodes = self.nodes
        length = self.length
        deepest = self.deepest
        self.anchors[anchor] = None
        self.deepest = self.depth
        spot = self._node(event)
        # How deep it is by itself, wherever it may be repeated.
        height = self.deepest - self.depth
        self.deepest = max(deepest, self.deepest)
        # The node itself was counted before.
        inside = self.nodes - nodes + 1
        self.anchors[anchor] = _Anchored(spot, inside, self.length - length, height)
        return spot

    def _node(self, event: yaml.Event) -> Spot:
        if isinstance(event, yaml.ScalarEvent):
            return self._leaf(event)
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        if isinstance(event, yaml.MappingStartEvent):
            spot = self._pairs(event)
        else:
            spot = self._row(cast("yaml.SequenceStartEvent", event))
        self.depth -= 1
        return spot

    def _alias(self, event: yaml.AliasEvent) -> Spot:
        """Read an alias, which counts for as much as what it stands for."""
        # It is not walked through again: its size was measured when it was read.
        target = self._target(event)
        self.nodes += target.nodes
        self.length += target.length
        self.deepest = max(self.deepest, self.depth + target.height)
        self._check_growth(event)
        start = starts(event)
        extent = Extent(start.index, ends(event).index, start.line + 1, start.column)
        return Alias(extent, target.spot)

    def _target(self, event: yaml.AliasEvent) -> _Anchored:
        name = event.anchor or ""
        target = self.anchors.get(name)
        # Of the anchors so far the latest of that name (YAML 1.2.2, 3.2.2.2).
        if target is not None:
            return target
        if name in self.anchors:
            missing = "refers to a node that contains it"
        else:
            missing = "has no anchor in this object"
        start = starts(event)
        raise InputError(f"*{name} {missing}", start.line + 1, start.column + 1)

    def _check_growth(self, event: yaml.AliasEvent) -> None:
        """Refuse a text that aliases make too deep or too long (a "billion laughs")."""
        if self.deepest > limits.DEPTH:
            raise too_deep(event)
        # What is written out is compared with what was written down.
        most = limits.GROWTH * len(self.text) + limits.ALLOWANCE
        if self.nodes > limits.NODES or self.length > most:
            times = f"more than {limits.GROWTH} times as long as it is"
            raise _at(event, f"is too large: aliases make it {times}")

    def _leaf(self, event: yaml.ScalarEvent) -> Spot:
        start = starts(event)
        style = event.style or ""
        end = ends(event).index
        if style in _BLOCK_STYLES:
            end = self._block_end(start.index, end)
        # `!` says that a plain scalar is a string.
        tag = event.tag
        if tag == "!":
            tag = _STR
        self.length += len(event.value)
        extent = Extent(start.index, end, start.line + 1, start.column, anchor=event.anchor)
        return Leaf(extent, event.value, style, tag)

    def _block_end(self, start: int, end: int) -> int:
        """Leave out the blank lines behind a block scalar, but for one that keeps them (`|+`)."""
        # `|2+  # a comment`: a plus in the comment keeps nothing.
        header, _, _ = self.text[start:end].splitlines()[0].partition(" #")
        if not header.endswith("+") and "+ " not in header:
            return start + len(self.text[start:end].rstrip())
        # The last line break is the end of the line, and stays behind an edit.
        if self.text[end - 1 : end] in {"\n", "\r"}:
            return end - 1
        return end

    def _pairs(self, event: yaml.MappingStartEvent) -> Spot:
        entries: list[tuple[Spot, Spot]] = []
        last: Spot | None = None
        following = next(self.stream)
        while not isinstance(following, yaml.MappingEndEvent):
            key = self.spot(following)
            last = self.spot(next(self.stream))
            entries.append((key, last))
            following = next(self.stream)
        # What follows the last entry is the end of the mapping.
        return Pairs(_extent(event, following, last), tuple(entries))

    def _row(self, event: yaml.SequenceStartEvent) -> Spot:
        items: list[Spot] = []
        last: Spot | None = None
        following = next(self.stream)
        while not isinstance(following, yaml.SequenceEndEvent):
            last = self.spot(following)
            items.append(last)
            following = next(self.stream)
        return Row(_extent(event, following, last), tuple(items))


def _extent(
    begin: yaml.CollectionStartEvent,
    end: yaml.Event,
    last: Spot | None,
) -> Extent:
    """Return where a collection is, of which `last` is the last entry."""
    start = starts(begin)
    flow = bool(begin.flow_style)
    until = ends(end).index
    # A block collection ends with its last entry: libyaml sees its end only further below.
    if last is not None and not flow:
        until = last.end
    return Extent(start.index, until, start.line + 1, start.column, flow, begin.anchor)


def node(spot: Spot) -> Node:
    """Give the node of a spot: aliases followed, merge keys merged.

    Raises InputError if impossible.
    """
    return _Nodes().node(spot)


def is_merge(key: Spot) -> bool:
    """Say whether a key is the merge key of YAML 1.1, `<<`, which a quoted one is not."""
    if not isinstance(key, Leaf):
        return False
    return _merges(Scalar(key.text, not key.style, key.tag))


class _Nodes:
    """Builds nodes from spots; what several aliases stand for is built once, and is one node."""

    def __init__(self) -> None:
        self.shared: dict[Spot, Node] = {}

    def node(self, spot: Spot) -> Node:
        if isinstance(spot, Alias):
            return self._target(spot.target)
        # A spot with an anchor may be asked for again, by an alias.
        if spot.anchor:
            return self._target(spot)
        return self._built(spot)

    def _target(self, spot: Spot) -> Node:
        if spot not in self.shared:
            self.shared[spot] = self._built(spot)
        return self.shared[spot]

    def _built(self, spot: Spot) -> Node:
        place = (spot.line, spot.column + 1)
        if isinstance(spot, Leaf):
            return Scalar(spot.text, not spot.style, spot.tag, *place)
        if isinstance(spot, Row):
            return Sequence(tuple([self.node(item) for item in spot.items]), *place)
        # The four kinds of spots are all there are.
        assert isinstance(spot, Pairs)  # noqa: S101
        entries = [(self._key(key), self.node(entry)) for key, entry in spot.entries]
        # https://yaml.org/type/merge.html, which kustomize and kubectl follow too.
        if any(_merges(key) for key, _ in entries):
            entries = _merged(entries)
        return Mapping(tuple(entries), *place)

    def _key(self, spot: Spot) -> Scalar:
        key = self.node(spot)
        if isinstance(key, Scalar):
            return key
        raise InputError("a key of a mapping must be a scalar", spot.line, spot.column + 1)


def _merges(key: Scalar) -> bool:
    if key.text != "<<":
        return False
    # `"<<"` is a key like others, and so is `!!str <<`.
    return key.tag == _MERGE or (key.plain and key.tag is None)


def _merged(entries: list[tuple[Scalar, Node]]) -> list[tuple[Scalar, Node]]:
    """Put in the place of each merge key what it brings in.

    What is there itself wins, then what came first.
    """
    # A key of the mapping itself outranks, also where it is behind the merge.
    seen = {key.text for key, _ in entries if not _merges(key)}
    result: list[tuple[Scalar, Node]] = []
    for key, entry in entries:
        if not _merges(key):
            result.append((key, entry))
            continue
        for name, inherited in _inherited(key, entry):
            if name.text not in seen:
                seen.add(name.text)
                result.append((name, inherited))
    return result


def _inherited(key: Scalar, source: Node) -> Iterator[tuple[Scalar, Node]]:
    # `<<: [*a, *b]` merges several, the first outranks.
    sources: Iterable[Node] = (source,)
    if isinstance(source, Sequence):
        sources = source.items
    for mapping in sources:
        if not isinstance(mapping, Mapping):
            raise InputError("only a mapping can be merged with <<", key.line, key.column)
        yield from mapping.entries


def _at(event: yaml.Event, message: str) -> ExcessError:
    return ExcessError(f"the text {message}", starts(event).line + 1, starts(event).column + 1)
