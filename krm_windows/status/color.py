"""A report in colour, for a terminal; nothing is said by colour alone."""

from collections.abc import Sequence

from rich.text import Text


def paint(page: str, alarming: Sequence[bool]) -> Text:
    """Return a page, with those lines red that are about a target that is not as it should be."""
    lines = zip(page.splitlines(), alarming, strict=True)
    return Text().join(Text(f"{line}\n", style="red" if wrong else "") for line, wrong in lines)
