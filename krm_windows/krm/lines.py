"""Lines of a text, with the line breaks of YAML 1.1, which are those that libyaml sees."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import AnyStr

# `\r\n` first: else it would be two breaks.
BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")

_BREAKS = "\n\r\x85\u2028\u2029"
# Line break, indentation and text of a comment that has a line of its own.
_COMMENT = re.compile(f"(?:\r\n|[{_BREAKS}])( *)#[^{_BREAKS}]*")
# Blanks, breaks and comments: what may be between two tokens.
_TRIVIA = re.compile(rf"(?:\s|\ufeff|#[^{_BREAKS}]*)*")
# Possessive (`*+`), or a long run of blanks without a colon would be tried in every length.
_COLON = re.compile(rf"(?:[\s\ufeff]++|#[^{_BREAKS}]*+)*+:")
# Tags and anchors of a node (`!!seq &name`), with what is behind each.
_PROPERTIES = re.compile(rf"(?:[!&]\S*(?:\s|#[^{_BREAKS}]*)+)*")
# Bytes, of which line feeds are counted once for all objects of an input.
_BLOCK = 1 << 14


def feeds_above(source: bytes, place: int) -> int:
    """Return how many line feeds of an input are above a place in it (in bytes).

    It costs no more for the last of many objects than for the first.
    """
    block = place // _BLOCK
    if not block:
        return source.count(b"\n", 0, place)
    return _feeds_above_blocks(source)[block] + source.count(b"\n", block * _BLOCK, place)


@lru_cache(maxsize=4)
def _feeds_above_blocks(source: bytes) -> tuple[int, ...]:
    """Return how many line feeds are above each block of an input, and above its end."""
    found = [0]
    for start in range(0, len(source), _BLOCK):
        found.append(found[-1] + source.count(b"\n", start, start + _BLOCK))
    return tuple(found)


class Offsets:
    """Turns places in characters into places in bytes (UTF-8), one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_ascii = text.isascii()
        self._characters = 0
        self._bytes = 0

    def in_bytes(self, place: int) -> int:
        """Give where a character is; never asked for one before the last."""
        # Each character is a byte.
        if self._is_ascii:
            return place
        self._bytes += len(self._text[self._characters : place].encode())
        self._characters = place
        return self._bytes


def end_of(
    pattern: re.Pattern[AnyStr],
    text: AnyStr,
    place: int,
    stop: int | None = None,
) -> int:
    """Give the end of what a pattern matches at a place, the place itself where that is nothing.

    Nothing at or behind `stop` is matched.
    """
    if stop is None:
        stop = len(text)
    found = pattern.match(text, place, stop)
    # A type checker knows nothing of the pattern.
    if found is None:
        raise TypeError(f"{pattern.pattern!r} does not match the empty text")
    return found.end()


def newline(text: str) -> str:
    """Give the line break that a text uses: that of its first line."""
    found = BREAK.search(text)
    # The other breaks of YAML 1.1 are never written.
    if found and found.group() == "\r\n":
        return "\r\n"
    return "\n"


def start(text: str, place: int) -> int:
    """Give where the line of `place` begins.

    Looks further and further back, so that it takes as long as the line and not as long as all that
    is above it: some breaks a text does not have at all.
    """
    reach = 256
    while reach < place:
        found = max(text.rfind(mark, place - reach, place) for mark in _BREAKS)
        if found >= 0:
            return found + 1
        reach *= 2
    return max(text.rfind(mark, 0, place) for mark in _BREAKS) + 1


def end(text: str, place: int) -> int:
    """Give where the line of `place` ends, before its break."""
    found = BREAK.search(text, place)
    if found:
        return found.start()
    return len(text)


def before(text: str, place: int) -> int:
    """Give where the line above that of `place` ends, before its break; 0 on the first line."""
    begin = start(text, place)
    # A break of two characters ends the line before both.
    if text[begin - 2 : begin] == "\r\n":
        return begin - 2
    return max(begin - 1, 0)


def foot(text: str, place: int, column: int) -> int:
    """Give the end of the line of `place`, or of the last comment below it indented by `column`."""
    last = end(text, place)
    # Comments right below, each a line further down.
    while (comment := _COMMENT.match(text, last)) and len(comment.group(1)) >= column:
        last = comment.end()
    return last


def above(text: str, place: int) -> int:
    """Give the end of the line above that of `place` and above the comments right above it."""
    line = start(text, place)
    # Up, as long as the line above is a comment.
    while line:
        previous = start(text, before(text, line))
        if not text[previous:line].lstrip(" ").startswith("#"):
            break
        line = previous
    return before(text, line)


def dashes(text: str, begin: int, ends: Iterable[int]) -> Iterator[int]:
    """Give the dashes of a block sequence.

    It begins (with its properties) at `begin`; `ends` are the ends of its entries.
    """
    place = end_of(_PROPERTIES, text, begin)
    for entry in ends:
        yield place
        # The next dash is the next thing that is neither blank nor comment.
        place = end_of(_TRIVIA, text, entry)


def colon(text: str, place: int) -> int:
    """Give the place behind the colon of a key that ends at `place`, that place if it has none."""
    found = _COLON.match(text, place)
    if found:
        return found.end()
    return place


def question(text: str, place: int, key: int) -> int:
    """Give the `?` between the end of an entry at `place` and the key at `key`, else that key."""
    mark = end_of(_TRIVIA, text, place)
    # `? key` is how YAML marks a key that is no simple one.
    if mark < key and text[mark] == "?":
        return mark
    return key
