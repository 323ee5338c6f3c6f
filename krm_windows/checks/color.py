"""Findings in colour, for a terminal; each rule is a link to its entry in the documentation."""

import re

from rich.text import Text

from krm_windows.results import Severity
from krm_windows.rules import RULES

_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "cyan",
}
_URLS = {rule.id: rule.url for rule in RULES}
# `policy.yaml:12: [error] …`, of text that cannot be read `policy.yaml:12:3: …`, with a file alone
# `policy.yaml: …`, or without a location.
_HEAD = re.compile(
    r"(?P<location>[^\[\s].*?: )?"
    rf"(?P<tag>\[(?P<severity>{'|'.join(Severity)})\])"
)
# `… (field-unknown)`, perhaps with clusters behind it in brackets, whose names have none.
_RULE = re.compile(r"\((?P<id>[a-z]+(?:-[a-z]+)*)\)(?: \[[^\[\]]*\])?$")


def paint(page: str) -> Text:
    """Return a page of findings in colour; nothing is said by colour alone."""
    painted = Text()
    for line in page.splitlines(keepends=True):
        painted.append_text(_line(line))
    return painted


def _line(line: str) -> Text:
    text = Text(line)
    head = _HEAD.match(line)
    # A terminal may be narrower than a finding, whose last line then has its rule.
    if head is None and not line.startswith(" "):
        return text
    if head is not None:
        _paint_head(text, head)
    rule = _RULE.search(line.rstrip("\n"))
    if rule is not None and rule["id"] in _URLS:
        # OSC 8; a terminal that knows no links shows the text alone.
        text.stylize(f"link {_URLS[rule['id']]}", *rule.span("id"))
    return text


def _paint_head(text: Text, head: re.Match[str]) -> None:
    if head["location"]:
        text.stylize("bold", *head.span("location"))
    text.stylize(_STYLES[Severity(head["severity"])], *head.span("tag"))
