"""KubeObject: one object as a span of bytes, read only when somebody looks inside, edited where it stands."""

import re
from collections.abc import Mapping as MappingOf
from functools import lru_cache

from krm_windows.krm import json_outline, layout, writer
from krm_windows.krm.errors import EditError, InputError
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, Value, value

_WORD = r"[A-Za-z][A-Za-z0-9._/-]*"
_NOT_LITERAL = re.compile(r"[\s'\"\\]")
_AMPERSAND = b"&"


class KubeObject:
    """An object of the Kubernetes resource model, as it stands in its document.

    `column` is that of the dash if the object is an entry of a list in block style, None if it is a document of its
    own. `reaching` says that a quoted text may reach over a line, so that a look at single lines would not be safe.
    `json` says that it is JSON of which `json_outline` found the places.
    """

    __slots__ = ("_node", "_text", "column", "end", "json", "reaching", "source", "start")

    def __init__(  # noqa: PLR0913 - where it stands, and how it may be looked at
        self,
        source: bytes,
        start: int,
        end: int,
        *,
        column: int | None = None,
        reaching: bool = True,
        json: bool = False,
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.column = column
        self.reaching = reaching
        self.json = json
        self._text: str | None = None
        self._node: Mapping | None = None

    @classmethod
    def parse(cls, text: bytes) -> "KubeObject":
        """Take the one object in `text`, which is read when it is looked at."""
        return cls(text, 0, len(text))

    @classmethod
    def from_value(cls, content: MappingOf[str, object]) -> "KubeObject":
        """Make a new object, written by `writer`."""
        return cls.parse(writer.render(content).encode())

    @property
    def span(self) -> bytes:
        """The text as it stands: with dash, indentation and comments."""
        return self.source[self.start : self.end] if self._text is None else self._text.encode()

    @property
    def edited(self) -> bool:
        """Whether the text is another than the one that was read."""
        return self._text is not None

    def as_read(self) -> "KubeObject":
        """Give the object as it was read, before any edit."""
        return KubeObject(
            self.source,
            self.start,
            self.end,
            column=self.column,
            reaching=self.reaching,
            json=self.json,
        )

    @property
    def node(self) -> Mapping:
        """The object's mapping; raises InputError, with the place in the whole input, if the text is none."""
        if self._node is None:
            try:
                self._node = self._read()
            except InputError as error:
                above = self.source.count(b"\n", 0, self.start) if error.line else 0
                raise InputError(error.message, error.line + above, error.column) from error
        return self._node

    def _read(self) -> Mapping:
        root = layout.node(layout.read(self._decoded()))
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
        """`metadata.labels`, each as the text that stands there."""
        return self._strings("metadata", "labels")

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`, each as the text that stands there."""
        return self._strings("metadata", "annotations")

    def node_at(self, *path: str | int) -> Node | None:
        """Give the node at a path of keys and indices, None where there is none."""
        found: Node | None = self.node
        for step in path:
            if isinstance(found, Mapping):
                found = found.find(str(step))
            elif (
                isinstance(found, Sequence)
                and isinstance(step, int)
                and 0 <= step < len(found.items)
            ):
                found = found.items[step]
            else:
                return None
        return found

    def get(self, *path: str | int) -> Value:
        """Give the meaning of the node at a path (core schema of YAML 1.2), None where there is none."""
        found = self.node_at(*path)
        return None if found is None else value(found)

    def mentions(self, text: str) -> bool:
        """Say whether `text` may be part of a key or value in here: cheap, and never wrongly False."""
        if _NOT_LITERAL.search(text):
            return True
        if self._text is not None:
            return text in self._text or "\\" in self._text
        found = self.source.find(text.encode(), self.start, self.end) >= 0
        return found or self.source.find(b"\\", self.start, self.end) >= 0

    def set(self, content: object, *path: str | int) -> None:
        """Make the value at `path` be `content`, and change no line that already says so; makes missing mappings.

        Raises EditError where the path leads through something that is no mapping or list.
        """
        from krm_windows.krm import edits  # noqa: PLC0415 - most objects are only read

        self._become(edits.set_value(self._editable(), self._path(path), content))

    def remove(self, *path: str | int) -> bool:
        """Remove the entry at `path`; say whether there was one."""
        if self.node_at(*path) is None:
            return False
        from krm_windows.krm import edits  # noqa: PLC0415 - likewise

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
        return (
            self.source[self.start : self.end].decode("utf-8-sig")
            if self._text is None
            else self._text
        )

    def _path(self, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
        return path if self.column is None else (0, *path)

    def _editable(self) -> str:
        """Give the text, unless another object of the document refers to an anchor in it."""
        if _AMPERSAND in self.source[self.start : self.end]:
            from krm_windows.krm import anchors  # noqa: PLC0415 - most objects have none

            name = anchors.shared(self.source, self.start, self.end)
            if name is not None:
                raise EditError(f"another object refers to the anchor &{name} in {self!r}")
        return self._decoded()

    def _become(self, text: str) -> None:
        if text != self._decoded():
            self._text = text
            self._node = None

    def _header(self, key: str) -> str:
        """Read a field of the top level from its line where that is safe, or as JSON, else from the node."""
        if self._text is None and self.json and self._node is None:
            word = json_outline.word(self.source[self.start : self.end], key)
            if word is not None:
                return word
        if self._text is None and not self.reaching and self.column is not None:
            found = _line_of(key, self.column).search(self.source, max(self.start - 1, 0), self.end)
            if found:
                return found.group(1).decode()
        return self._string(key)

    def _string(self, *path: str) -> str:
        found = self.node_at(*path)
        return found.text if isinstance(found, Scalar) and value(found) is not None else ""

    def _strings(self, *path: str) -> dict[str, str]:
        found = self.node_at(*path)
        if not isinstance(found, Mapping):
            return {}
        value(found)
        return {key.text: entry.text for key, entry in found.entries if isinstance(entry, Scalar)}


@lru_cache
def _line_of(key: str, column: int) -> re.Pattern[bytes]:
    pattern = rf"\n {{{column}}}(?:  |- ){key}: +({_WORD})[ \t]*\r?\n"
    return re.compile(pattern.encode())
