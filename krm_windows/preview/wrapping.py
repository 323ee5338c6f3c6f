"""Lines for a terminal that is narrower than they are: broken between words, never in one."""

import textwrap
from collections.abc import Iterable, Iterator

# What goes on is so far to the right of where its line begins.
_INDENT = 2


def wrapped(page: str, width: int) -> str:
    """Return a page whose lines are at most so many columns wide (0: any number).

    A word that is wider than that stays as it is.
    """
    return "\n".join(broken(page.split("\n"), width))


def broken(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield lines as `wrapped` does."""
    for line in lines:
        if not width or len(line) <= width:
            yield line
            continue
        begins = len(line) - len(line.lstrip(" "))
        yield from parts(line, width, begins + _INDENT)


def parts(words: str, width: int, inset: int, first: int = 0) -> list[str]:
    """Return a text in lines, the first and the later ones moved in; no word is cut."""
    return textwrap.wrap(
        words,
        width,
        initial_indent=" " * first,
        subsequent_indent=" " * inset,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
