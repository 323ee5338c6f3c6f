"""The outline of a ResourceList: its fields, and the entries of its lists, as regions of bytes."""

import re
from typing import NamedTuple, TypeAlias

from krm_windows.krm.errors import InputError

Span: TypeAlias = tuple[int, int]

# Nothing, null or an empty list, perhaps on a line below, and comments.
# A comment is taken whole (`*+`): a line end of two characters could be shared in two ways, for
# each line.
_EMPTY = re.compile(
    rb"(?:[ \t]*+(?:\[[ \t]*+\]|null|~))?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*[ \t]*+(?:#[^\n]*+)?\Z"
)


class Field(NamedTuple):
    """A field of the top level: its name, where its key begins, and the bytes behind the colon."""

    name: str
    key: int
    start: int
    end: int

    def is_empty(self, data: bytes) -> bool:
        """Say whether nothing, null or an empty list is behind the colon."""
        # A comment may be behind either, and a list may be on a line below.
        # In its place: a slice would be a second input in memory.
        return _EMPTY.match(data, self.start, self.end) is not None

    def is_null(self, data: bytes) -> bool:
        """Say whether nothing or null is behind the colon."""
        return self.is_empty(data) and data.find(b"[", self.start, self.end) < 0


class Listing(NamedTuple):
    """The entries of a list as spans of bytes; `column` is that of the dashes, None in flow style.

    In block style the spans touch each other: comments above an entry are part of its span, and so
    is what follows it. `reaching` are the numbers of those in which a quoted scalar or a flow
    collection may reach over a line. `json` says that the entries are JSON that Python's decoder
    reads as libyaml does.
    """

    spans: tuple[Span, ...] = ()
    column: int | None = None
    reaching: frozenset[int] = frozenset()
    json: bool = False


class Outline(NamedTuple):
    """The fields of the one document, in order, and its items.

    `end` is where another field can be added; `flow` says that the document is in flow style, as
    JSON is.
    """

    fields: tuple[Field, ...]
    end: int
    flow: bool
    items: Listing

    def find(self, name: str) -> Field | None:
        """Give the field of that name; raises InputError if it is there twice."""
        found = [field for field in self.fields if field.name == name]
        if len(found) > 1:
            raise InputError(f"the ResourceList has a duplicate field {name!r}")
        if found:
            return found[0]
        return None
