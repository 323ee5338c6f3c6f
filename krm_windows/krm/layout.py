"""The layout of a YAML text: its nodes, each with where it begins and ends.

Built from the events of libyaml, the parser that kustomize's own was translated from: what is a
line break, where a scalar ends and what is refused are the same there and here. Offsets count
characters of the text.
"""

import re
from collections.abc import Iterator
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


def read(text: str) -> Node:
    """Give the node of the one document in `text`: aliases followed, merge keys merged.

    Raises InputError unless there is exactly one.
    """
    # Before libyaml takes any time for it.
    limits.check_length(text)
    stream = events(text)
    # The events of a document are StreamStart, DocumentStart, those of its root, DocumentEnd.
    next(stream)
    if not isinstance(next(stream), yaml.DocumentStartEvent):
        raise InputError("there is no document", 1, 1)
    root = _Reader(text, stream).node(next(stream))
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

    node: Node
    nodes: int
    length: int
    height: int


class _Reader:
    """Builds nodes from events; knows the anchors seen so far, of which an alias means the latest.

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

    def node(self, event: yaml.Event) -> Node:
        """Read the node that `event` begins."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self.nodes += 1
        if self.nodes > limits.NODES:
            raise _at(event, f"has more than {limits.NODES} nodes")
        anchor = cast("yaml.NodeEvent", event).anchor
        if not anchor:
            return self._content(event)
        nodes, length, deepest = self.nodes - 1, self.length, self.deepest
        self.anchors[anchor] = None
        # How deep it is by itself, wherever it may be repeated.
        self.deepest = self.depth
        node = self._content(event)
        height = self.deepest - self.depth
        self.deepest = max(deepest, self.deepest)
        size = (self.nodes - nodes, self.length - length)
        self.anchors[anchor] = _Anchored(node, *size, height)
        return node

    def _content(self, event: yaml.Event) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        nodes: list[Node] = []
        while type(following := next(self.stream)) not in ENDS:
            nodes.append(self.node(following))
        self.depth -= 1
        begin = cast("yaml.CollectionStartEvent", event)
        start = starts(event)
        flow = bool(begin.flow_style)
        # A block collection ends with its last entry: libyaml sees its end only further below.
        end = nodes[-1].end if nodes and not flow else ends(following).index
        place = (start.line + 1, start.column + 1, start.index, end, flow)
        if isinstance(event, yaml.SequenceStartEvent):
            return Sequence(tuple(nodes), *place)
        entries, inherited = _merged(list(zip(map(_key, nodes[::2]), nodes[1::2], strict=True)))
        return Mapping(tuple(entries), *place, inherited)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        """Read an alias, which counts for as much as what it stands for."""
        # It is not walked through again: its size was measured when it was read.
        target = self._target(event)
        self.nodes += target.nodes
        self.length += target.length
        self.deepest = max(self.deepest, self.depth + target.height)
        self._check_growth(event)
        # Its place in the text is its own, and its line that of what it stands for.
        return target.node._replace(start=starts(event).index, end=ends(event).index)

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

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        start = starts(event)
        style = event.style or ""
        end = ends(event).index
        if style in _BLOCK_STYLES:
            end = self._block_end(start.index, end)
        # `!` says that a plain scalar is a string.
        tag = _STR if event.tag == "!" else event.tag
        self.length += len(event.value)
        place = (start.line + 1, start.column + 1, start.index, end)
        return Scalar(event.value, not style, tag, *place, style)

    def _block_end(self, start: int, end: int) -> int:
        """Leave out the blank lines behind a block scalar, but for one that keeps them (`|+`)."""
        # `|2+  # a comment`: a plus in the comment keeps nothing.
        header, _, _ = self.text[start:end].splitlines()[0].partition(" #")
        if not header.endswith("+") and "+ " not in header:
            return start + len(self.text[start:end].rstrip())
        # The last line break is the end of the line, and stays behind an edit.
        return end - self.text[start:end].endswith("\n")


def _key(node: Node) -> Scalar:
    if isinstance(node, Scalar):
        return node
    raise InputError("a key of a mapping must be a scalar", node.line, node.column)


def _merges(key: Scalar) -> bool:
    """Say whether a key is the merge key of YAML 1.1, `<<`, which a quoted one is not."""
    if key.text != "<<":
        return False
    # `"<<"` is a key like others, and so is `!!str <<`.
    return key.tag == _MERGE or (key.plain and key.tag is None)


def _merged(entries: list[tuple[Scalar, Node]]) -> tuple[list[tuple[Scalar, Node]], int]:
    """Put behind the entries of a mapping what its merge keys bring in, and count that.

    What is there itself wins, then what came first (https://yaml.org/type/merge.html, which
    kustomize and kubectl follow too).
    """
    own = [entry for entry in entries if not _merges(entry[0])]
    if len(own) == len(entries):
        return entries, 0
    seen = {key.text for key, _ in own}
    found = own.copy()
    for key, source in entries:
        if not _merges(key):
            continue
        # `<<: [*a, *b]` merges several, the first outranks.
        for mapping in source.items if isinstance(source, Sequence) else (source,):
            if not isinstance(mapping, Mapping):
                raise InputError("only a mapping can be merged with <<", key.line, key.column)
            for name, inherited in mapping.entries:
                if name.text not in seen:
                    seen.add(name.text)
                    found.append((name, inherited))
    return found, len(found) - len(own)


def _at(event: yaml.Event, message: str) -> ExcessError:
    return ExcessError(f"the text {message}", starts(event).line + 1, starts(event).column + 1)
