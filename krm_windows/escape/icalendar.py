"""iCalendar (RFC 5545).

Values that hold no line break of their own, and lines of at most 75 octets.
"""

import re
from collections.abc import Iterable, Iterator

from krm_windows.escape.signs import Escaped, visible
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
    """Fold a line between characters."""
    part, length = "", 0
    for sign in content:
        octets = len(sign.encode())
        if length + octets > _OCTETS:
            yield part
            # A line that goes on begins with a blank, which counts.
            part, length = " ", 1
        part += sign
        length += octets
    yield part
