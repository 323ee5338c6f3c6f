"""The layout of a YAML text: its nodes, each with where it begins and ends.

Built from the events of libyaml, the parser that kustomize's own was translated from: what is a
line break, where a scalar ends and what is refused are the same there and here. Offsets count
characters of the text.
"""

import re
from collections.abc import Iterator
from typing import cast

import yaml

from krm_windows.krm import limits
from krm_windows.krm.errors import ExcessError, InputError
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence

_BLOCK_STYLES = frozenset("|>")
_STR = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
# What Git puts before and behind the two sides of a conflict (git-merge(1), "How conflicts are
# presented").
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?= )", re.MULTILINE)


def starts(event: yaml.Event) -> yaml.Mark:
    """Give where an event begins, which libyaml always knows."""
    return cast("yaml.Mark", event.start_mark)


def ends(event: yaml.Event) -> yaml.Mark:
    """Give where an event ends, which libyaml always knows."""
    return cast("yaml.Mark", event.end_mark)


def events(text: str) -> Iterator[yaml.Event]:
    """Give libyaml's events; raises InputError where the text is no YAML, or nested too deeply."""
    # The depth is read here, for every reader, because libyaml takes longer for a token the
    # deeper it is.
    depth = 0
    try:
        # The parser in C: the one in Python takes many times as long.
        loader = yaml.CSafeLoader(text)
        while (event := loader.get_event()) is not None:
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > limits.DEPTH:
                    raise too_deep(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            yield event
    except yaml.YAMLError as error:
        raise _unreadable(error, text) from error


def _unreadable(error: yaml.YAMLError, text: str) -> InputError:
    """Say in one line what libyaml says, and where."""
    conflict = merge_conflict(text)
    if conflict is not None:
        return conflict
    if isinstance(error, yaml.reader.ReaderError):
        # A character that YAML does not have; libyaml counts bytes.
        above = text.encode()[: error.position].split(b"\n")
        message = f"the character U+{error.character:04X} is not allowed in YAML"
        return InputError(message, len(above), len(above[-1].decode(errors="replace")) + 1)
    if not isinstance(error, yaml.MarkedYAMLError):
        return InputError(" ".join(str(error).split()))
    mark = error.problem_mark
    began = error.context_mark
    # What is open to the end of the text, such as a quote, is wrong where it begins.
    if began and mark and mark.index >= len(text.rstrip()):
        mark = began
    message = " ".join(part for part in (error.problem, error.context) if part)
    return InputError(message, *((mark.line + 1, mark.column + 1) if mark else ()))


def merge_conflict(text: str) -> InputError | None:
    """Say where Git has left both sides of a merge in a text that cannot be read, if it has."""
    found = _CONFLICT.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    said = "is an unresolved merge conflict: keep one of its two sides, and remove its markers"
    return InputError(f"{found[0]} {said}", line, 1)


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


class _Reader:
    """Builds nodes from events; knows the anchors seen so far, of which an alias means the latest.

    An anchor is None while its own node is being read.
    """

    def __init__(self, text: str, stream: Iterator[yaml.Event]) -> None:
        self.text = text
        self.stream = stream
        self.anchors: dict[str, Node | None] = {}
        self.nodes = 0
        # What is written out is compared with what was written down.
        self.most = min(limits.NODES, limits.GROWTH * len(text) + limits.ALLOWANCE)

    def node(self, event: yaml.Event) -> Node:
        """Read the node that `event` begins."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        # Before a text of many nodes takes any memory for them.
        self.nodes += 1
        if self.nodes > limits.NODES:
            raise _at(event, f"has more than {limits.NODES} nodes")
        anchor = cast("yaml.NodeEvent", event).anchor
        if anchor:
            self.anchors[anchor] = None
        node = self._content(event)
        if anchor:
            self.anchors[anchor] = node
        return node

    def _content(self, event: yaml.Event) -> Node:
        start = starts(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, start)
        nodes: list[Node] = []
        while not isinstance(following := next(self.stream), yaml.CollectionEndEvent):
            nodes.append(self.node(following))
        flow = bool(cast("yaml.CollectionStartEvent", event).flow_style)
        # A block collection ends with its last entry: libyaml sees its end only further below.
        end = nodes[-1].end if nodes and not flow else ends(following).index
        size = 1 + sum([node.size for node in nodes])
        inside = [node.height for node in nodes if not isinstance(node, Scalar)]
        height = 1 + max(inside, default=0)
        if size > self.most:
            raise _at(event, f"is too large: aliases make it more than {self.most} nodes")
        if height > limits.DEPTH:
            raise too_deep(event)
        place = (start.line + 1, start.column + 1, start.index, end, flow, size, height)
        if isinstance(event, yaml.SequenceStartEvent):
            return Sequence(tuple(nodes), *place)
        entries, inherited = _merged(list(zip(map(_key, nodes[::2]), nodes[1::2], strict=True)))
        return Mapping(tuple(entries), *place, inherited)

    def _alias(self, event: yaml.AliasEvent) -> Node:
        """Read an alias: of the anchors so far the latest of that name (YAML 1.2.2, 3.2.2.2)."""
        start = starts(event)
        name = event.anchor or ""
        target = self.anchors.get(name)
        if target is None:
            missing = "has no anchor in this object"
            if name in self.anchors:
                missing = "refers to a node that contains it"
            raise InputError(f"*{name} {missing}", start.line + 1, start.column + 1)
        # Its place in the text is its own, and its line that of what it stands for.
        return target._replace(start=start.index, end=ends(event).index)

    def _scalar(self, event: yaml.ScalarEvent, start: yaml.Mark) -> Scalar:
        style = event.style or ""
        end = ends(event).index
        if style in _BLOCK_STYLES:
            end = self._block_end(start.index, end)
        # `!` says that a plain scalar is a string.
        tag = _STR if event.tag == "!" else event.tag
        place = (start.line + 1, start.column + 1, start.index, end)
        size = 1 + len(event.value) // limits.CHARACTERS
        return Scalar(event.value, not style, tag, *place, style, size)

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
    inherited: dict[str, tuple[Scalar, Node]] = {}
    for key, source in entries:
        if not _merges(key):
            continue
        # `<<: [*a, *b]` merges several, the first outranks.
        for mapping in source.items if isinstance(source, Sequence) else (source,):
            if not isinstance(mapping, Mapping):
                raise InputError("only a mapping can be merged with <<", key.line, key.column)
            for name, value in mapping.entries:
                inherited.setdefault(name.text, (name, value))
    own = [entry for entry in entries if not _merges(entry[0])]
    known = {key.text for key, _ in own}
    brought = [entry for name, entry in inherited.items() if name not in known]
    return [*own, *brought], len(brought)


def _at(event: yaml.Event, message: str) -> ExcessError:
    return ExcessError(f"the text {message}", starts(event).line + 1, starts(event).column + 1)
