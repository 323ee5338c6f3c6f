"""Lines for a terminal that is narrower than they are: broken between words, never in one."""

import textwrap

# What goes on is so far to the right of where its line begins.
_INDENT = 2


def wrapped(page: str, width: int) -> str:
    """Return a page whose lines are at most so many columns wide (0: any number).

    A word that is wider than that stays as it is.
    """
    lines: list[str] = []
    for line in page.split("\n"):
        begins = len(line) - len(line.lstrip(" "))
        fits = not width or len(line) <= width
        lines += [line] if fits else parts(line, width, begins + _INDENT)
    return "\n".join(lines)


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
