"""The outline of a ResourceList: where its fields and the entries of its lists are in the bytes.

The orchestrators write block style, so that a scan for lines at the column of the top level and at
that of the dashes finds every boundary: whatever a text, a quoted scalar or a flow collection goes
on with is indented deeper than the collection around it (YAML 1.2.2, 6.1 and 7.3). libyaml also
reads some texts that are indented less; an item that one would cut in two is no YAML by itself,
and is refused by whoever looks into it. That the boundaries are those that libyaml sees in the
whole is a law of `tests/property/test_wire_bytes.py`. What is not laid out like this (JSON, tags,
quoted keys) is read as a whole: see `resource_list`.
"""

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from krm_windows.krm.errors import InputError
from krm_windows.krm.lines import end_of

Span: TypeAlias = tuple[int, int]

# A comment is taken whole (`*+`): a line end of two characters could be shared in two ways, for
# each line.
_TRIVIA = rb"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*"
# What may be above the first field: a byte order mark, directives, comments, a marker.
_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:%%[^\n]*+\n)*%b(?:---[ \t]*+(?:#[^\n]*+)?\r?\n%b)?" % (_TRIVIA, _TRIVIA)
)
# The break before a line at column 0 that is neither a comment nor an entry of a list.
_LINE = re.compile(rb"\n(?=[^ \n\r#-]|-[^ \t\r\n])")
# A key of the top level as orchestrators write it: without quotes, its colon right behind it.
_FIELD = re.compile(rb"([A-Za-z_][A-Za-z0-9_]*):(?=[ \t\r\n]|\Z)")
# The end of the document, with nothing behind it.
_END = re.compile(rb"\.\.\.[ \t]*+(?:#[^\n]*+)?(?:\r?\n%b[ \t]*+(?:#[^\n]*+)?)?\Z" % _TRIVIA)
_HEADING = re.compile(_TRIVIA)
_DASH = re.compile(rb"( *)-[ \t\r\n]")
# Nothing, null or an empty list, perhaps on a line below, and comments.
_EMPTY = re.compile(rb"(?:[ \t]*+(\[[ \t]*+\]|null|~))?%b[ \t]*+(?:#[^\n]*+)?\Z" % _TRIVIA)


class Listing(NamedTuple):
    """The entries of a list in block style as spans of bytes; `column` is that of their dashes.

    The spans touch each other: comments above an entry are part of its span, and so is what
    follows it.
    """

    spans: tuple[Span, ...] = ()
    column: int = 0


def scan(data: bytes) -> dict[str, Span]:
    """Find the fields of the one document in `data`: the bytes behind the colon of each.

    Empty for a layout that is not the orchestrators'. Raises InputError if one is there twice.
    """
    begin = end_of(_HEAD, data, 0)
    colons: dict[str, int] = {}
    bounds = []
    for start in [begin, *(match.end() for match in _LINE.finditer(data, begin))]:
        bounds.append(start)
        if field := _FIELD.match(data, start):
            name = field.group(1).decode()
            if name in colons:
                raise InputError(f"the ResourceList has a duplicate field {name!r}")
            colons[name] = field.end()
        elif colons and _END.match(data, start):
            break
        else:
            return {}
    # A field goes on to the next one.
    ends = [*bounds, len(data)][1 : len(colons) + 1]
    return {name: (colon, end) for (name, colon), end in zip(colons.items(), ends, strict=True)}


def is_null(data: bytes, field: Span) -> bool:
    """Say whether nothing or null is behind the colon."""
    found = _EMPTY.match(data, *field)
    return found is not None and not (found.group(1) or b"").startswith(b"[")


def listing(data: bytes, field: Span) -> Listing | None:
    """Find the entries of a field; none where it is null, None where it is no list in block style.

    Each begins with a dash at the column of the first one; deeper ones are inside of them.
    """
    if _EMPTY.match(data, *field):
        return Listing()
    head_end = end_of(_HEADING, data, *field)
    first = _DASH.match(data, head_end, field[1])
    if head_end == field[0] or first is None:
        return None
    column = len(first.group(1))
    found = _dash(column).finditer(data, first.start() - 1, field[1])
    # Behind the line break that each match begins with.
    begins = [_head(data, match.start() + 1, column) for match in found]
    # Behind the last entry follows a field, at column 0.
    return Listing(tuple(pairwise([*begins, _head(data, field[1], 0)])), column)


def _head(data: bytes, line: int, column: int) -> int:
    """Climb from the start of a line over the comments above it that belong to it."""
    sign = b" " * column + b"#"
    while line and data.startswith(sign, above := data.rfind(b"\n", 0, line - 1) + 1):
        line = above
    return line


@cache
def _dash(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n {%d}-(?=[ \t\r\n]|\Z)" % column)
