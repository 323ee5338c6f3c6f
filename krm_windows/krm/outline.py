"""The outline of a ResourceList: where its fields and the entries of its lists are in the bytes.

The orchestrators write block style, so that a scan for lines at the column of the top level finds
every boundary. Such a scan is right by induction: from a boundary on, only a quoted scalar or a
flow collection can reach over a line at that column. A span in which none is left open at the end
of its line is complete; a span in which one might be is read by libyaml; and what is not laid out
like this (JSON, tags, complex keys) is read by libyaml as a whole.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice, pairwise

from krm_windows.krm import boundaries
from krm_windows.krm.errors import InputError
from krm_windows.krm.fields import Field, Listing, Outline, Span
from krm_windows.krm.lines import end_of

_LISTS = frozenset({"items", "results"})

# A line at column 0 of a block mapping that is no entry of a list, with the line break before it.
_LINE = re.compile(rb"\n(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*")
_FIRST_LINE = re.compile(rb"(?:\xef\xbb\xbf)?(?:(?:[^ \n\r#-]|-[^ \t\n\r])[^\n]*)?")
# A key of the top level as orchestrators write it: without quotes, its colon right behind it.
_FIELD = re.compile(rb"\n?([A-Za-z_][A-Za-z0-9_]*):(?=[ \t\r\n]|\Z)")
_MARKER = re.compile(rb"\n?(---|\.\.\.)[ \t]*(?:#[^\n]*+)?\r?\Z")
_TRIVIA = re.compile(rb"(?:[ \t]*(?:#[^\n]*+)?\r?\n)*")
_DASH = re.compile(rb"( *)-[ \t\r\n]")
# In UTF-8: U+0085, U+2028 and U+2029, which YAML 1.1 takes for line breaks.
_FOREIGN_BREAK = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
_BOM = b"\xef\xbb\xbf"

# Behind the break of a line, or a blank: of all quotes this leaves out those that close.
_BEHIND_BLANK = rb"(?<=[ \t\n].)"
# There a node may begin, if it is the blank behind `:`, `-` or `?`, or behind another one.
_BEGINS = rb"(?:(?<=[\s:?-][ \t].)|(?<=\n.))"
# Every repetition is possessive (`*+`): what it took is never tried again in another way, or a
# list that is not closed on its line would take twice as long with each entry.
_QUOTED = rb""""(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'(?!')"""
_ENTRY = rb"(?:[\w./-]++:[ ]++)?+(?>%b|[^\[\]{}\"'\#,\n]*+)" % _QUOTED
_PROPERTY = rb"""\S*(?:[ \t]+[!&]\S*)?[ \t]+["'\[{]"""
# The beginning of a quoted scalar or a flow collection that is not closed on its line, or of a tag
# or an anchor in front of one, by its first character. A pattern that begins with the character
# itself is searched several times as fast as one for any of them.
_OPEN = {
    b'"': _BEHIND_BLANK + rb'(?!(?:[^"\\\n]++|\\.)*+")' + _BEGINS,
    b"'": _BEHIND_BLANK + rb"(?!(?:[^'\n]++|'')*+'(?!'))" + _BEGINS,
    b"[": _BEGINS + rb"(?!%b(?:,[ ]*+%b)*+\])" % (_ENTRY, _ENTRY),
    b"{": _BEGINS + rb"(?!%b(?:,[ ]*+%b)*+\})" % (_ENTRY, _ENTRY),
    b"!": _BEGINS + _PROPERTY,
    b"&": _BEGINS + _PROPERTY,
}


def trace(data: bytes) -> Outline:
    """Find fields and items of the one document in `data`.

    Raises InputError unless it is one mapping.
    """
    # From the fastest to the slowest; each but the last may give up.
    return scan(data) or _decoded(data) or parse(data)


def _decoded(data: bytes) -> Outline | None:
    """Find them with Python's decoder, if the document may be JSON."""
    # Orchestrators write YAML.
    if not data.lstrip().startswith(b"{"):
        return None
    from krm_windows.krm import json_outline  # noqa: PLC0415

    return json_outline.find(data)


def listing(data: bytes, field: Field) -> Listing | None:
    """Find the entries of a field with libyaml; none where it is null, None where it is no list."""
    if field.is_empty(data):
        return Listing()
    shape = boundaries.read(data[field.start : field.end])
    if shape.kind != "sequence":
        return None
    spans = [(start + field.start, end + field.start) for start, end in shape.spans]
    if shape.flow:
        return Listing(tuple(spans))
    # Comments above an entry belong to it, which libyaml does not say.
    begins = [start - shape.column for start, _ in spans]
    ends = {index: end for index, (_, end) in enumerate(spans)}
    touching = tuple(_spans(data, field, begins, shape.column, ends))
    return Listing(touching, shape.column, frozenset(ends))


def parse(data: bytes) -> Outline:
    """Find fields and items with libyaml, whatever the style."""
    shape = boundaries.read(data)
    if shape.kind != "mapping":
        raise InputError("the input is not a ResourceList: it is not a mapping", 1, 1)
    fields = _parsed_fields(shape)
    outline = Outline(fields, shape.end, shape.flow, Listing())
    _refuse_bare(data, shape)
    items = outline.find("items")
    found = listing(data, items) if items else Listing()
    if found is None:
        raise InputError("`items` is not a list")
    return Outline(fields, shape.end, shape.flow, found)


def _refuse_bare(data: bytes, shape: boundaries.Shape) -> None:
    """Refuse a list that has a key and no colon (`? items`): nothing can be put behind it."""
    for name, colon in zip(shape.names, shape.colons, strict=True):
        if name in _LISTS and data[colon - 1 : colon] != b":":
            raise InputError(f"the field {name!r} has no colon and no value")


def _parsed_fields(shape: boundaries.Shape) -> tuple[Field, ...]:
    """Give the fields; in block style each reaches to the next one, with the comments between."""
    keys = [key for key, _ in shape.spans]
    # In block style a field has no end of its own: what is below it belongs to it.
    if not shape.flow:
        found = list(zip(shape.names, keys, shape.colons, strict=True))
        return tuple(_reaching_to_the_next(found, shape.end))
    ends = [end for _, end in shape.spans]
    return tuple(map(Field, shape.names, keys, shape.colons, ends))


def scan(data: bytes) -> Outline | None:
    """Find fields and items by their lines; None for a layout that is not the orchestrators'."""
    if _has_foreign_breaks(data):
        return None
    fields = _scanned_fields(data)
    names = {field.name for field in fields}
    # A field that occurs twice is for libyaml to see, and then refused.
    if not fields or len(names) < len(fields):
        return None
    reaching = _reaching(data)
    outline = Outline(fields, fields[-1].end, flow=False, items=Listing())
    items = outline.find("items")
    found: Listing | None = Listing()
    checked = list(fields)
    if items and not items.is_empty(data):
        # Its entries are read one by one, or a quote in one would cost a parse of all.
        found = _scanned_list(data, items, reaching)
        checked.remove(items)
    if found is None or not _are_complete(data, checked, reaching):
        return None
    return outline._replace(items=found)


def _reaching(data: bytes) -> list[int]:
    """Give the places from where something may reach over the end of its line, in order."""
    places: list[int] = []
    for sign in _OPEN:
        # To look for one character takes no time, and most inputs hold only some of these.
        if sign in data:
            places += [match.start() for match in _open(sign).finditer(data)]
    return sorted(places)


# Compiled where it is needed, as it takes longer than most inputs take to be searched.
@cache
def _open(sign: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(sign) + _OPEN[sign])


def _has_foreign_breaks(data: bytes) -> bool:
    """Say whether YAML 1.1 sees a line break where a scan for line feeds sees none."""
    # A carriage return alone is a line break to YAML; most inputs have none of either kind.
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return True
    # ASCII is checked in no time, and most inputs are.
    return not data.isascii() and _FOREIGN_BREAK.search(data) is not None


def _scanned_fields(data: bytes) -> tuple[Field, ...]:
    """Give the fields if every line at column 0 begins one.

    A marker (`---`) may be before the first and one (`...`) behind the last; () for anything
    else.
    """
    found: list[tuple[str, int, int]] = []
    end = len(data)
    for start, line in _lines(data):
        # Behind `...` nothing may follow at column 0.
        if end < len(data):
            return ()
        field = _FIELD.match(line)
        if field:
            found.append((field.group(1).decode(), start, start + field.end()))
            continue
        marker = _MARKER.match(line)
        if marker is None:
            return ()
        if marker.group(1) == b"...":
            end = start
        # A marker below a field begins a second document, and so does one below any other text.
        elif found or data[:start].strip(_BOM):
            return ()
    if _has_content_behind(data, end):
        return ()
    return tuple(_reaching_to_the_next(found, end))


def _reaching_to_the_next(found: list[tuple[str, int, int]], end: int) -> Iterator[Field]:
    """Give the fields, each with an end where the next one begins."""
    ends = [key for _, key, _ in found[1:]]
    ends.append(end)
    # Without a field there is an end too many.
    for (name, key, colon), field_end in zip(found, ends, strict=False):
        yield Field(name, key, colon, field_end)


def _has_content_behind(data: bytes, marker: int) -> bool:
    """Say whether something follows the line of the `...` at a place."""
    _, _, rest = data[marker:].partition(b"\n")
    return b"\n" in rest and bool(rest.strip())


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Give start and text of lines at column 0 that are neither comments nor entries."""
    first = _FIRST_LINE.match(data)
    begin = 0
    if data.startswith(_BOM):
        begin = len(_BOM)
    if first and first.end() > begin:
        yield begin, data[begin : first.end()]
    for match in _LINE.finditer(data):
        # The match begins with the line break before the line.
        start = match.start() + 1
        yield start, data[start : match.end()]


def _are_complete(
    data: bytes,
    fields: Iterable[Field],
    reaching: list[int],
) -> bool:
    """Say whether nothing in any of the fields reaches over its end."""
    return all(_is_complete(data, field, reaching) for field in fields)


def _is_complete(
    data: bytes,
    field: Field,
    reaching: list[int],
) -> bool:
    if bisect_right(reaching, field.key) == bisect_right(reaching, field.end):
        return True
    # Something in it may reach over a line: libyaml reads this field alone.
    text = data[field.key : field.end]
    return boundaries.complete(text, "mapping") is not None


def _scanned_list(
    data: bytes,
    field: Field,
    reaching: list[int],
) -> Listing | None:
    """Give the entries of a list if a dash at the column of the first one begins each."""
    head_end = end_of(_TRIVIA, data, field.start, field.end)
    if head_end == field.start:
        return None
    first = _DASH.match(data, head_end, field.end)
    if first is None:
        return None
    column = len(first.group(1))
    # Entries begin at the column of the first dash; deeper ones are inside of them.
    found = _dash(column).finditer(data, first.start() - 1, field.end)
    # Behind the line break that each match begins with.
    begins = [match.start() + 1 for match in found]
    ends = _ends(data, [*begins, field.end], reaching)
    if ends is None:
        return None
    spans = tuple(_spans(data, field, begins, column, ends))
    return Listing(spans, column, frozenset(ends))


def _ends(
    data: bytes,
    bounds: list[int],
    reaching: list[int],
) -> dict[int, int] | None:
    """Give where the content of each span ends in which something reaches over a line.

    None if one of them is not complete: then what looked like a dash was part of a text.
    """
    # Of all such places those in the list, and the entries that have one.
    low = bisect_right(reaching, bounds[0])
    high = bisect_right(reaching, bounds[-1])
    doubtful = {bisect_right(bounds, place) - 1 for place in reaching[low:high]}
    ends: dict[int, int] = {}
    for index in sorted(doubtful):
        start = bounds[index]
        stop = bounds[index + 1]
        end = boundaries.complete(data[start:stop], "sequence")
        if end is None:
            return None
        ends[index] = start + end
    return ends


def _spans(
    data: bytes,
    field: Field,
    begins: list[int],
    column: int,
    ends: dict[int, int],
) -> Iterator[Span]:
    """Give the span of each entry, from the comments above its dash to those above the next one.

    `begins` are the starts of the lines with a dash, which is at `column`. `ends` are the ends of
    entries whose lines cannot be distinguished from comments by looking at them.
    """
    first = _head(data, begins[0], field.start, column)
    # Behind the last entry follows a field, at column 0.
    floor = ends.get(len(begins) - 1, begins[-1] + column)
    last = _head(data, field.end, floor, 0)
    # Without comments there is nothing to climb over.
    heads: Iterable[int] = islice(begins, 1, None)
    if _has_comments(data, begins, column):
        heads = _heads(data, begins, column, ends)
    return pairwise(chain([first], heads, [last]))


def _heads(
    data: bytes,
    begins: list[int],
    column: int,
    ends: dict[int, int],
) -> Iterator[int]:
    """Give where each entry but the first begins, with the comments above it."""
    for index, (above, begin) in enumerate(pairwise(begins)):
        floor = ends.get(index, above + column)
        yield _head(data, begin, floor, column)


def _has_comments(data: bytes, begins: list[int], column: int) -> bool:
    """Say whether there may be a comment above an entry but the first, so far to the left."""
    begin = begins[0]
    end = begins[-1]
    # Most inputs have no such sign at all.
    if data.find(b"#", begin, end) < 0:
        return False
    return _comment(column).search(data, begin, end) is not None


@cache
def _dash(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n {%d}-(?=[ \t\r\n]|\Z)" % column)


@cache
def _comment(column: int) -> re.Pattern[bytes]:
    return re.compile(rb"\n[ \t\r\f\v]{0,%d}#" % column)


def _head(
    data: bytes,
    start: int,
    floor: int,
    column: int,
) -> int:
    """Climb from the line at `start` over comments that belong to it, not beyond `floor`.

    A comment deeper than `column` belongs to what is above. So do comments right below the entry
    above that a blank line parts from this one.
    """
    # `head` is the best place so far, `line` the start of the line that was looked at last.
    head = start
    line = start
    blank: int | None = None
    while (above := data.rfind(b"\n", floor, max(line - 1, floor)) + 1) > floor:
        text = data[above:line].lstrip()
        if not text:
            blank = head
        # The first line from below that is no comment of this column ends the climb.
        elif text[:1] != b"#" or line - above - len(text) > column:
            break
        else:
            head = above
        line = above
    # All comments up to the floor are of the entry above, where a blank line parts them from this
    # one.
    if blank is not None and head == line:
        return blank
    return head
