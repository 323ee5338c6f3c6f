"""The outline of a ResourceList in JSON.

Python's decoder is many times as fast as the events of libyaml.

Only ASCII without tabs is taken, so that a place in the text is one in the bytes, and no depth that
libyaml would have to judge. What else is there is left to libyaml, which reads it or says what
is wrong. A text that only JSON allows, such as a key of 2,000 characters, is passed on as it came.
"""

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from krm_windows.krm import limits
from krm_windows.krm.fields import Field, Listing, Outline, Span
from krm_windows.krm.lines import end_of

# Anything but printable ASCII and line ends. Half a character as an escape (a surrogate, `\ud83d`)
# is no text in YAML.
_OTHER = re.compile(rb"[^\x20-\x7e\r\n]|\\u[dD]")
# Repetitions are possessive (`*+`): none is tried again in a shorter way.
_BEGIN = re.compile(r"[ \r\n]*+\{[ \r\n]*+")
_KEY = re.compile(r'"([A-Za-z][A-Za-z0-9]*+)"[ \r\n]*+:')
_SPACE = re.compile(r"[ \r\n]*+")
_MORE = re.compile(r"[ \r\n]*+,[ \r\n]*+")
_END = re.compile(r"[ \r\n]*+\}[ \r\n]*+\Z")


class _OtherError(ValueError):
    """Something that is not read here."""


def find(data: bytes) -> Outline | None:
    """Find fields and items of a text in JSON; None for what libyaml has to look at."""
    # Without the first bracket, the rest could still be read as fields.
    if not data.lstrip(b" \r\n").startswith(b"{"):
        return None
    if _OTHER.search(data):
        return None
    try:
        outline = _outline(data.decode("ascii"))
    except (ValueError, RecursionError):
        return None
    # A field that is no list is refused elsewhere, in the words of YAML.
    items = outline.find("items")
    if items and not outline.items.spans and not items.is_empty(data):
        return None
    return outline


def word(text: bytes, key: str) -> str | None:
    """Give the text at a key of an item, as `find` takes it; None where a closer look is needed."""
    # Once alone: the key occurs nowhere else in it, and not twice at the top.
    if text.count(b'"%b"' % key.encode()) != 1:
        return None
    found = json.loads(text).get(key)
    if isinstance(found, str):
        return found
    return None


def _refused(_: str) -> NoReturn:
    raise _OtherError


# NaN and Infinity, which the decoder takes, are no JSON, and to YAML they are texts.
_DECODER = json.JSONDecoder(parse_constant=_refused)


def _outline(text: str) -> Outline:
    begin = _BEGIN.match(text)
    place = 0
    if begin:
        place = begin.end()
    fields: list[Field] = []
    items: tuple[Span, ...] = ()
    while key := _KEY.match(text, place):
        start = _after_space(text, key.end())
        # Of the items each place is needed; of other fields only the end.
        if key.group(1) == "items" and text.startswith("[", start):
            items = tuple(_entries(text, start))
            end = _list_end(text, start, items)
        else:
            end = _value_end(text, start)
        fields.append(Field(key.group(1), place, key.end(), end))
        more = _MORE.match(text, end)
        if more is None:
            break
        place = more.end()
    if not fields or _END.match(text, fields[-1].end) is None:
        raise _OtherError
    return Outline(
        fields=tuple(fields),
        # Another field goes in front of the last bracket.
        end=text.rindex("}"),
        flow=True,
        items=Listing(items, json=True),
    )


def _entries(text: str, start: int) -> Iterator[Span]:
    """Give the entries of the list that begins at a bracket."""
    place = _after_space(text, start + 1)
    if text.startswith("]", place):
        return
    while True:
        end = _value_end(text, place)
        yield place, end
        more = _MORE.match(text, end)
        if more is None:
            return
        place = more.end()


def _list_end(text: str, start: int, entries: tuple[Span, ...]) -> int:
    """Give the end of the list that begins at a bracket, and has these entries."""
    last = start + 1
    if entries:
        _, last = entries[-1]
    bracket = _after_space(text, last)
    if not text.startswith("]", bracket):
        raise _OtherError
    return bracket + 1


def _value_end(text: str, start: int) -> int:
    _, end = _DECODER.raw_decode(text, start)
    # Those in texts are counted, too: one too many only means that libyaml looks at it.
    brackets = text.count("{", start, end) + text.count("[", start, end)
    # So many are needed for such a depth, with that of the list and the object around it.
    if brackets > limits.DEPTH - 2:
        raise _OtherError
    return end


def _after_space(text: str, place: int) -> int:
    return end_of(_SPACE, text, place)
