"""The text calendar and states in colour, for a terminal: the one module that needs rich."""

import re

from rich.text import Text

# Dots are dim where they stand for hours.
_STYLES = {
    r"#+": "green",
    r"\++": "yellow",
    r"x+": "red",
    r"(?<= )[.]+|(?<=[#+x])[.]+": "dim",
}
# What holds now is what a tired person looks for.
_STATES = {r"(?m)^  open\b": "bold green", r"(?m)^  closed\b": "bold red", r" is stale\b": "yellow"}
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


def paint_states(page: str) -> Text:
    """Return lines that say what holds, with the states in colour."""
    text = Text(page)
    for words, style in _STATES.items():
        text.highlight_regex(words, style)
    return text


def _week(line: str) -> Text:
    text = Text(line)
    for signs, style in _STYLES.items():
        # `highlight_regex` of rich styles every match of an expression.
        text.highlight_regex(signs, style)
    return text
