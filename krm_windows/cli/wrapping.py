"""Lines for a terminal that is narrower than they are: broken between words, never in one."""

from collections.abc import Iterator
from itertools import groupby
from unicodedata import combining, east_asian_width

# What goes on is so far to the right of where its line begins.
_INDENT = 2
# A column that is narrower than this holds no words.
_COLUMN = 20
_WIDE = "WF"


def wrapped(page: str, width: int) -> str:
    """Return a page whose lines are at most so many columns wide (0: any number).

    A line goes on below its last column, if it has several. A word that is wider than that stays as
    it is.
    """
    if not width:
        return page
    lines: list[str] = []
    for line in page.split("\n"):
        lines += _broken(line, width)
    return "\n".join(lines)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: of most letters of East Asia, two."""
    if text.isascii():
        return len(text)
    taken = 0
    for letter in text:
        if east_asian_width(letter) in _WIDE:
            taken += 2
        elif not combining(letter):
            taken += 1
    return taken


def _broken(line: str, width: int) -> Iterator[str]:
    if columns(line) <= width:
        yield line
        return
    indent = " " * _hanging(line, width)
    now = ""
    for blanks, word in _words(line):
        if now.strip() and columns(now) + len(blanks) + columns(word) > width:
            yield now
            now = indent + word
        else:
            now += blanks + word
    yield now


def _hanging(line: str, width: int) -> int:
    """Return the column that the rest of a line begins in."""
    begins = len(line) - len(line.lstrip(" "))
    last = line.rfind("  ") + 2
    words = line[last:].split()
    room = width - columns(line[:last])
    if last > max(begins, 2) and room >= max(_COLUMN, *map(columns, words)):
        return columns(line[:last])
    return begins + _INDENT


def _words(line: str) -> Iterator[tuple[str, str]]:
    """Yield each word, after the blanks before it."""
    blanks = ""
    for is_blank, letters in groupby(line, " ".__eq__):
        if is_blank:
            blanks = "".join(letters)
        else:
            yield blanks, "".join(letters)
            blanks = ""
