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
    line = content
    # So many more than may fit that it is seen what the next line would begin with.
    while len(line[: _OCTETS + 1].encode()) > _OCTETS:
        end = _fits(line)
        # Where there is nothing but signs, somewhere it has to be folded.
        at = next((at for at in range(end, 1, -1) if _may_part(line, at)), end)
        yield line[:at]
        # A line that goes on begins with a blank, which counts.
        line = f" {line[at:]}"
    yield line


def _may_part(line: str, at: int) -> bool:
    # A joiner stays with both letters that it joins.
    return line[at].isalnum() and line[at - 1].isprintable()


def _fits(line: str) -> int:
    """Return how many of the first characters make no more octets than a line may have."""
    octets = line[:_OCTETS].encode()[:_OCTETS]
    # What is cut in the middle of a character is left out.
    return len(octets.decode(errors="ignore"))
