"""Lines for a terminal that is narrower than they are: broken between words, never in one."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.cells import cell_len

# What goes on is so far to the right of where its line begins.
_INDENT = 2
# A column that is narrower than this holds no words.
_COLUMN = 20
# Between two columns of a table.
_GAP = re.compile(r" {2,}")


def wrapped(page: str, width: int) -> str:
    """Return a page whose lines are at most so many columns wide (0: any number).

    A line goes on below its last column, if it has several and that is wide enough, or else below
    its second. A word that is wider than that stays as it is.
    """
    return "\n".join(broken(page.split("\n"), width))


def broken(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines as `wrapped` does."""
    for line in lines:
        if not width or columns(line) <= width:
            yield line
        else:
            yield from _broken(line, width)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: of most letters of East Asia, two."""
    return cell_len(text)


def _broken(line: str, width: int) -> Iterator[str]:
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
    cells = [found.end() for found in _GAP.finditer(line.rstrip(" "), begins)]
    if not cells:
        return begins + _INDENT
    room = width - columns(line[: cells[-1]])
    if room >= max(_COLUMN, *map(columns, line[cells[-1] :].split())):
        return columns(line[: cells[-1]])
    # Where rows of a table go on they are below its second column, if the first is narrow.
    second = columns(line[: cells[0]])
    if second <= _COLUMN:
        return second
    # Of a head whose first cell is empty, where it begins.
    return begins or _INDENT


def _words(line: str) -> Iterator[tuple[str, str]]:
    """Yield each word, after the blanks before it."""
    blanks = ""
    for is_blank, letters in groupby(line, " ".__eq__):
        if is_blank:
            blanks = "".join(letters)
        else:
            yield blanks, "".join(letters)
            blanks = ""
