"""Findings in colour, for a terminal."""

from rich.text import Text

from krm_windows.results import Severity

_COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def paint(page: str) -> Text:
    """Return a page of findings in colour; nothing is said by colour alone."""
    text = Text(page)
    for severity, color in _COLORS.items():
        # `policy.yaml:12: [error] …`, or without a location; a group has the style of its name.
        head = rf"(?m)^(?P<bold>[^\[\s].*?: )?(?P<{color}>\[{severity}\])"
        text.highlight_regex(head)
    return text
