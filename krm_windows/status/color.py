"""A report in colour, for a terminal; nothing is said by colour alone."""

from collections.abc import Iterable

from rich.text import Text


def paint(lines: Iterable[tuple[str, bool]]) -> Text:
    """Return the lines, red where they are about a target that is not as it should be."""
    return Text().join(Text(f"{line}\n", style="red" if alarming else "") for line, alarming in lines)
