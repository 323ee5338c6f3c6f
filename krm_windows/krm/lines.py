"""Lines of a text."""

import re
from array import array
from bisect import bisect_left
from functools import lru_cache
from typing import AnyStr

_BREAK = re.compile(r"\r?\n")
# Line break, indentation and text of a comment that has a line of its own.
_COMMENT = re.compile(r"\r?\n( *)#[^\r\n]*")


def feeds_above(source: bytes, place: int) -> int:
    """Return how many line feeds of an input are above a place in it (in bytes)."""
    return bisect_left(_feeds(source), place)


# Many objects of one input are asked for their lines.
@lru_cache(maxsize=4)
def _feeds(source: bytes) -> "array[int]":
    return array("Q", (match.start() for match in re.finditer(b"\n", source)))


def end_of(
    pattern: re.Pattern[AnyStr],
    text: AnyStr,
    place: int,
    stop: int | None = None,
) -> int:
    """Give the end of what a pattern matches at a place, the place itself where that is nothing.

    Nothing at or behind `stop` is matched.
    """
    found = pattern.match(text, place, len(text) if stop is None else stop)
    return found.end() if found else place


def newline(text: str) -> str:
    """Give the line break that a text uses: that of its first line."""
    first, found, _ = text.partition("\n")
    return "\r\n" if found and first.endswith("\r") else "\n"


def start(text: str, place: int) -> int:
    """Give where the line of `place` begins."""
    return text.rfind("\n", 0, place) + 1


def end(text: str, place: int) -> int:
    """Give where the line of `place` ends, before its break."""
    found = text.find("\n", place)
    if found < 0:
        return len(text)
    return found - (text[found - 1 : found] == "\r")


def after(text: str, place: int) -> int:
    """Give where the next line begins behind the end of one, that place where there is none."""
    return end_of(_BREAK, text, place)


def foot(text: str, place: int, column: int) -> int:
    """Give the end of the line of `place`, or of the last comment below it indented by `column`."""
    last = end(text, place)
    # Comments right below, each a line further down.
    while (comment := _COMMENT.match(text, last)) and len(comment.group(1)) >= column:
        last = comment.end()
    return last
