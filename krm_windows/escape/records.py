"""JSON: every value arrives as it was, and its text shows what is in it."""

import json
import re

from krm_windows.escape.characters import HIDDEN, Escaped
from krm_windows.escape.terminal import MARKER


def json_page(value: object) -> Escaped:
    """Return a value as JSON over several lines, with a line feed at the end."""
    return Escaped(f"{json_text(json.dumps(value, indent=2, ensure_ascii=False))}\n")


def json_line(value: object) -> str:
    """Return a value as JSON on one line."""
    # Letters of all scripts stay readable.
    return json_text(json.dumps(value, ensure_ascii=False))


def json_text(document: str) -> str:
    """Return JSON with the codes of hidden characters.

    They are in texts only, where a code means the same.
    """
    shown = HIDDEN.sub(_code_of, document)
    return MARKER.sub(_code_of, shown)


def _code_of(found: re.Match[str]) -> str:
    return _code(found[0])


def _code(sign: str) -> str:
    r"""Write a character as JSON does: beyond 16 bits as the two halves of UTF-16 (RFC 8259, 7)."""
    units = sign.encode("utf-16-be", "surrogatepass")
    halves = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join([f"\\u{half}" for half in halves])
