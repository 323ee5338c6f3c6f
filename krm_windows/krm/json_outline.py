"""The places in a ResourceList that is written as JSON, by Python's decoder: many times as fast as libyaml's events.

Only ASCII without tabs is taken, so that a place in the text is one in the bytes, and no depth that libyaml would have
to judge. What else stands there is left to libyaml, which reads it or says what is wrong. A text that only JSON allows,
such as a key of 2,000 characters, is passed on as it came.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from krm_windows.krm import limits

Span: TypeAlias = tuple[int, int]

# Half a character as an escape is no text in YAML.
_OTHER = re.compile(rb"[^\x20-\x7e\r\n]|\\u[dD]")
_BEGIN = re.compile(r"[ \r\n]*+\{[ \r\n]*+")
_KEY = re.compile(r'"([A-Za-z][A-Za-z0-9]*+)"[ \r\n]*+:')
_SPACE = re.compile(r"[ \r\n]*+")
_MORE = re.compile(r"[ \r\n]*+,[ \r\n]*+")
_END = re.compile(r"[ \r\n]*+\}[ \r\n]*+\Z")


@dataclass(frozen=True, slots=True)
class Places:
    """Name, key, place behind the colon and end of each field; the items; and the place of the closing bracket."""

    fields: tuple[tuple[str, int, int, int], ...]
    items: tuple[Span, ...]
    end: int


class _OtherError(ValueError):
    """Something that is not read here."""


def find(data: bytes) -> Places | None:
    """Find the places in the one object that a text is; None for what libyaml has to look at."""
    if not data.lstrip(b" \r\n").startswith(b"{") or _OTHER.search(data):
        return None
    text = data.decode("ascii")
    try:
        return _places(text)
    except (ValueError, RecursionError):
        return None


def word(text: bytes, key: str) -> str | None:
    """Give the text at a key of an item, as `find` takes it; None where a closer look is needed."""
    # Once alone: the key stands nowhere else in it, and not twice at the top.
    if text.count(b'"%b"' % key.encode()) != 1:
        return None
    found = json.loads(text).get(key)
    return found if isinstance(found, str) else None


def _refused(_: str) -> NoReturn:
    raise _OtherError


_DECODER = json.JSONDecoder(parse_constant=_refused)


def _places(text: str) -> Places:
    begin = _BEGIN.match(text)
    place = begin.end() if begin else 0
    fields: list[tuple[str, int, int, int]] = []
    items: tuple[Span, ...] = ()
    while key := _KEY.match(text, place):
        start = _after_space(text, key.end())
        if key.group(1) == "items" and text.startswith("[", start):
            items = tuple(_entries(text, start))
            close = items[-1][1] if items else start + 1
            end = _closed(text, close)
        else:
            end = _value_end(text, start)
        fields.append((key.group(1), place, key.end(), end))
        more = _MORE.match(text, end)
        if more is None:
            break
        place = more.end()
    if not fields or _END.match(text, fields[-1][3]) is None:
        raise _OtherError
    return Places(tuple(fields), items, text.rindex("}"))


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


def _closed(text: str, place: int) -> int:
    """Give the end of a list whose last entry ends at a place."""
    bracket = _after_space(text, place)
    if not text.startswith("]", bracket):
        raise _OtherError
    return bracket + 1


def _value_end(text: str, start: int) -> int:
    _, end = _DECODER.raw_decode(text, start)
    # So many brackets are needed for such a depth, with that of the list and the object around it.
    if text.count("{", start, end) + text.count("[", start, end) > limits.DEPTH - 2:
        raise _OtherError
    return end


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place
