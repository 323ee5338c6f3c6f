"""iCalendar (RFC 5545).

Values that hold no line break of their own, and lines of at most 75 octets.
"""

import re
from collections.abc import Iterable, Iterator

from krm_windows.escape.characters import Escaped, visible
from krm_windows.escape.terminal import unmarked

_OCTETS = 75


def text(value: str) -> str:
    """Return a value of type TEXT (3.3.11).

    Control characters are not allowed in it, so their codes are written.
    """
    shown = unmarked(visible(value))
    escaped = re.sub(r"([\\;,])", r"\\\1", shown)
    return escaped.replace("\n", "\\n")


def page(lines: Iterable[str]) -> Escaped:
    """Return content lines, folded, each with the end that the format demands (3.1)."""
    written: list[str] = []
    for content in lines:
        written += [f"{folded}\r\n" for folded in _folded(content)]
    return Escaped("".join(written))


def _folded(content: str) -> Iterator[str]:
    """Fold a line between characters, and where it can be before a letter or digit.

    A CI system obeys a line that begins with `::`, whatever blanks are before it: where it is
    folded must not be a choice of whoever wrote the text.
    """
    start, blank = 0, ""
    while True:
        # One more than may fit: so it is seen what the next line would begin with.
        head = f"{blank}{content[start : start + _OCTETS + 1]}"
        end = _fits(head)
        if end == len(head):
            yield head
            return
        at = end
        while at > 1 and not _may_part(head, at):
            at -= 1
        # Nothing but signs: somewhere it has to be folded.
        if at <= 1:
            at = end
        yield head[:at]
        start += at - len(blank)
        # A line that goes on begins with a blank, which counts.
        blank = " "


def _may_part(line: str, at: int) -> bool:
    # A joiner stays with both letters that it joins.
    return line[at].isalnum() and line[at - 1].isprintable()


def _fits(line: str) -> int:
    """Return how many of the first characters make no more octets than a line may have."""
    octets = line.encode()[:_OCTETS]
    # What is cut in the middle of a character is left out.
    return len(octets.decode(errors="ignore"))
