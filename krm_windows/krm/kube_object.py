"""KubeObject: one object as a span of bytes, read when looked inside, edited where it is."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from krm_windows.krm import edits, layout, lines, writer
from krm_windows.krm.errors import EditError, InputError
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, Value, value

# What is in a header: versions, kinds and names hold no other characters.
_WORD = r"[A-Za-z][A-Za-z0-9._/-]*"
# A text that holds one of these may be in YAML in many ways.
_NOT_LITERAL = re.compile(r"[\s'\"\\]")
# What begins an anchor behind a blank, up to what ends its name (YAML 1.2.2, 6.9.2).
_ANCHOR = re.compile(rb"(?<=\s)&([^\s,\[\]{}]+)")


class KubeObject:
    """An object of the Kubernetes resource model, as it is in its document.

    `column` is that of the dash if the object is an entry of a list in block style, None if it is a
    document of its own. `file` is the name of the file that it was read from, which errors say,
    empty where none is known.
    """

    __slots__ = ("_node", "_text", "column", "end", "file", "source", "start")

    def __init__(
        self,
        source: bytes,
        start: int,
        end: int,
        *,
        column: int | None = None,
        file: str = "",
    ) -> None:
        self.file = file
        self.source = source
        self.start = start
        self.end = end
        self.column = column
        self._text: str | None = None
        # Read when it is first asked for, and again after an edit.
        self._node: Mapping | None = None

    @classmethod
    def parse(cls, text: bytes) -> "KubeObject":
        """Take the one object in `text`, which is parsed when it is first needed."""
        return cls(text, 0, len(text))

    @classmethod
    def from_value(cls, content: object) -> "KubeObject":
        """Make a new object, written by `writer`."""
        return cls.parse(writer.render(content).encode())

    @property
    def span(self) -> bytes:
        """The text as it is: with dash, indentation and comments."""
        # Of the input only a slice is taken, when somebody asks: most objects are never edited.
        if self._text is None:
            return self.source[self.start : self.end]
        return self._text.encode()

    @property
    def edited(self) -> bool:
        """Whether the text is another than the one that was read."""
        return self._text is not None

    @property
    def lines_above(self) -> int:
        """How many lines of the whole input are above the object."""
        return lines.feeds_above(self.source, self.start)

    def as_read(self) -> "KubeObject":
        """Give the object as it was read, before any edit."""
        return KubeObject(self.source, self.start, self.end, column=self.column, file=self.file)

    @property
    def node(self) -> Mapping:
        """The object's mapping.

        Raises InputError, with the place in the whole input, if it is none.
        """
        if self._node is None:
            try:
                self._node = self._read()
            except InputError as error:
                raise self._in_input(error) from error
        return self._node

    def _in_input(self, error: InputError) -> InputError:
        """Count the lines above the object too, where the place of an error is known."""
        if not error.line:
            return error
        line = error.line + self.lines_above
        return InputError(error.message, line, error.column, self.file)

    def _read(self) -> Mapping:
        root = layout.read(self._decoded())
        # The text of an entry begins with its dash, and so is a list of one.
        if self.column is not None and isinstance(root, Sequence):
            root = root.items[0]
        if not isinstance(root, Mapping):
            raise InputError("an object must be a mapping", root.line, root.column)
        return root

    @property
    def api_version(self) -> str:
        """`apiVersion`, or empty."""
        return self._header("apiVersion")

    @property
    def kind(self) -> str:
        """`kind`, or empty."""
        return self._header("kind")

    @property
    def name(self) -> str:
        """`metadata.name`, or empty."""
        return self._string("metadata", "name")

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, or empty."""
        return self._string("metadata", "namespace")

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`, each as the text that is there."""
        return self._strings("metadata", "labels")

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`, each as the text that is there."""
        return self._strings("metadata", "annotations")

    def node_at(self, *path: str | int) -> Node | None:
        """Give the node at a path of keys and indices, None where there is none."""
        found: Node | None = self.node
        for step in path:
            if isinstance(found, Mapping):
                found = found.find(str(step))
            elif isinstance(found, Sequence) and isinstance(step, int):
                if not 0 <= step < len(found.items):
                    return None
                found = found.items[step]
            else:
                return None
        return found

    def get(self, *path: str | int) -> Value:
        """Give the meaning of the node at a path (core schema of YAML 1.2), else None."""
        found = self.node_at(*path)
        if found is None:
            return None
        return self._meaning(found)

    def _meaning(self, node: Node) -> Value:
        """Give the meaning of one of its nodes; the place of an error is one in the input."""
        try:
            return value(node)
        except InputError as error:
            raise self._in_input(error) from error

    def mentions(self, *texts: str) -> bool:
        """Say whether a key or value may have one of `texts`: cheap, and never wrongly False."""
        return next(mentioning([self], *texts), None) is not None

    def has_any(self, texts: Iterable[bytes]) -> bool:
        """Say whether one of some texts is in its own, letter by letter."""
        source, start, end = self.source, self.start, self.end
        if self._text is not None:
            source, start, end = self.span, 0, len(self.span)
        for text in texts:  # noqa: SIM110 - most objects of a large stream are asked in vain
            if source.find(text, start, end) >= 0:
                return True
        return False

    def set(self, content: object, *path: str | int) -> None:
        """Make the value at `path` be `content`, and change no line that already says so.

        Makes missing mappings; raises EditError where the path leads through something that is no
        mapping or list.
        """
        try:
            edited = edits.set_value(self._editable(), self._path(path), content)
        # A key that occurs twice, which no edit leaves behind.
        except InputError as error:
            raise self._in_input(error) from error
        self._become(edited)

    def remove(self, *path: str | int) -> bool:
        """Remove the entry at `path`; say whether there was one."""
        if self.node_at(*path) is None:
            return False
        self._become(edits.remove(self._editable(), self._path(path)))
        return True

    def set_annotation(self, key: str, text: str) -> None:
        """Set one annotation."""
        self.set(text, "metadata", "annotations", key)

    def set_label(self, key: str, text: str) -> None:
        """Set one label."""
        self.set(text, "metadata", "labels", key)

    def __repr__(self) -> str:
        """Show kind, namespace and name."""
        return f"KubeObject({self.api_version} {self.kind} {self.namespace}/{self.name})"

    def _decoded(self) -> str:
        if self._text is None:
            # A byte order mark may be at the beginning of the input.
            return self.source[self.start : self.end].decode("utf-8-sig")
        return self._text

    def _path(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Give a path in the text, which for an entry of a list is a list of one."""
        if self.column is None:
            return path
        return (0, *path)

    def _editable(self) -> str:
        """Give the text, unless another object of the document refers to an anchor in it."""
        if self.column is not None:
            for anchor in _ANCHOR.finditer(self.source, self.start, self.end):
                name = anchor.group(1)
                # An alias means the nearest anchor above it (YAML 1.2.2, 3.2.2.2).
                later = re.compile(rb"([&*])%b(?=[\s,\]}]|\Z)" % re.escape(name))
                found = later.search(self.source, self.end)
                if found and found.group(1) == b"*":
                    shown = name.decode(errors="replace")
                    raise EditError(f"another object refers to the anchor &{shown} in {self!r}")
        return self._decoded()

    def _become(self, text: str) -> None:
        # An edit that changes nothing leaves the object as it was read.
        if text != self._decoded():
            self._text = text
            self._node = None

    def _header(self, key: str) -> str:
        """Read a field of the top level without reading the rest, where that is safe."""
        if self._text is None:
            text = self._word(key)
            if text is not None:
                return text
        return self._string(key)

    def _word(self, key: str) -> str | None:
        """Read a field from its line; None where only the node has it."""
        if self.column is None:
            return None
        # From the line break before the object: its first line may be the field.
        begin = max(self.start - 1, 0)
        found = _line_of(key, self.column).search(self.source, begin, self.end)
        if found:
            return found.group(1).decode()
        return None

    def _string(self, *path: str) -> str:
        found = self.node_at(*path)
        # `name:` without a text is null, which is not a name.
        if isinstance(found, Scalar) and value(found) is not None:
            return found.text
        return ""

    def _strings(self, *path: str) -> dict[str, str]:
        found = self.node_at(*path)
        if not isinstance(found, Mapping):
            return {}
        # Refuses a key that occurs twice.
        self._meaning(found)
        return {key.text: entry.text for key, entry in found.entries if isinstance(entry, Scalar)}


@lru_cache
def _line_of(key: str, column: int) -> re.Pattern[bytes]:
    # `  - kind: Role` or, as a later field of the entry, `    kind: Role`.
    pattern = rf"\n {{{column}}}(?:  |- ){key}: +({_WORD})[ \t]*\r?\n"
    return re.compile(pattern.encode())


def mentioning(items: Iterable[KubeObject], *texts: str) -> Iterator[KubeObject]:
    """Give the objects that may mention one of some texts: most are in none of them."""
    # What has blanks or quotes may be folded or escaped in YAML.
    if any(map(_NOT_LITERAL.search, texts)):
        return iter(items)
    # Behind a backslash any character may be as its number (`\u0041`).
    sought = [b"\\", *map(str.encode, texts)]
    return (item for item in items if item.has_any(sought))
