"""A report in colour, for a terminal; nothing is said by colour alone."""

from collections.abc import Sequence

from rich.text import Text


def paint(page: str, alarming: Sequence[bool]) -> Text:
    """Return a page, with those lines red that are about a target that is not as it should be."""
    text = Text()
    for line, wrong in zip(page.splitlines(), alarming, strict=True):
        style = ""
        if wrong:
            style = "red"
        text.append(f"{line}\n", style=style)
    return text
