"""Plain text: what a terminal shows, and what the log of a CI system keeps and partly obeys."""

import re
from collections.abc import Iterable

from krm_windows.escape.characters import code, visible

# Characters of a line that is not cut, and of what is kept of a longer one at its two ends.
_LONGEST = 4000
_HEAD = 2000
_TAIL = 500
_WHITE = {"\n": "\\n", "\t": "\\t"}
# GitHub obeys a line whose first characters, white space aside, are these (actions/runner,
# ActionCommand.TryParseV2).
_COMMAND = re.compile(r"^([^\S\n]*+)::", re.MULTILINE)
# GitHub (##[…], ActionCommand.TryParse), Azure Pipelines (##vso[…]) and TeamCity (##teamcity[…])
# obey these anywhere in a line. The markers of GitLab, Travis and Jenkins hold control
# characters and are gone with those.
MARKER = re.compile(r"#(?=#\w{0,40}\[)")


def page(text: str) -> str:
    """Return a text of several lines, none of which steers a terminal or is obeyed by CI."""
    shown = visible(text)
    if "::" in shown:
        shown = _COMMAND.sub(rf"\1{re.escape(code(':'))}:", shown)
    return unmarked(shown)


def line(text: str) -> str:
    """Return a text as one line, with its line breaks to be seen but those at its end.

    A very long one is cut, and says by how much.
    """
    return page(word(_cut(text.rstrip("\n"))))


def lines(texts: Iterable[object]) -> str:
    """Return a page with a line for each text."""
    return "".join(f"{line(str(each))}\n" for each in texts)


def cut(shown: str, width: int) -> str:
    """Return what fits into a width of a text as it is shown: what is escaped is longer."""
    if len(shown) <= width:
        return shown
    return f"{shown[: width - 1]}…"


def word(text: str) -> str:
    """Return a text as a part of one line, whole."""
    return re.sub(r"[\n\t]", lambda found: _WHITE[found[0]], visible(text))


def unmarked(text: str) -> str:
    """Return a text without the markers that are obeyed anywhere in a line."""
    if "##" not in text:
        return text
    return MARKER.sub(lambda _: code("#"), text)


def _cut(text: str) -> str:
    """Return a text without its middle.

    Its beginning says what it is, its end is the rule that it is about.
    """
    if len(text) <= _LONGEST:
        return text
    left_out = len(text) - _HEAD - _TAIL
    return f"{text[:_HEAD]}… ({left_out:,} of {len(text):,} characters left out) …{text[-_TAIL:]}"
