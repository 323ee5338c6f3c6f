"""The text calendar in colour, for a terminal: the one module that needs rich."""

import re

from rich.text import Text

# Dots are dim where they stand for hours.
_STYLES = {
    r"#+": "green",
    r"\++": "yellow",
    r"x+": "red",
    r"(?<= )[.]+|(?<=[#+x])[.]+": "dim",
}
# `2026-12-14 ####........ ...`: only lines of weeks hold signs, and a window may be named `x`.
_WEEK = re.compile(r"\d{4}-\d{2}-\d{2} [ #+.x]+")


def paint(page: str) -> Text:
    """Return a page with its signs in colour; they can be distinguished without it."""
    painted = Text()
    for line in page.splitlines(keepends=True):
        if _WEEK.fullmatch(line.rstrip("\n")):
            painted.append_text(_week(line))
        else:
            painted.append(line)
    return painted


def _week(line: str) -> Text:
    text = Text(line)
    for signs, style in _STYLES.items():
        # `highlight_regex` of rich styles every match of an expression.
        text.highlight_regex(signs, style)
    return text
