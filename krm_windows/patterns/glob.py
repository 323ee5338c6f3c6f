"""Globs with one sign, `*`, for any number of characters.

`ChangeClasses` and directories are selected by them. Between two stars is fixed text. Its first
occurrence behind the star is as good as any other (what follows has then the most room), so nothing
is ever tried twice.
"""

from collections.abc import Sequence


def matches(glob: str, text: str) -> bool:
    """Whether a glob matches the whole of a text.

    `*` matches any characters, none and line ends included.
    """
    first, *rest = glob.split("*")
    if not rest:
        return text == glob
    *inner, last = rest
    start = len(first)
    end = len(text) - len(last)
    # The two ends must not share characters: `ab*ba` does not match `aba`.
    if end < start:
        return False
    if not text.startswith(first):
        return False
    if not text.endswith(last):
        return False
    return _in_order(inner, text, start, end)


def _in_order(
    parts: Sequence[str],
    text: str,
    start: int,
    end: int,
) -> bool:
    """Whether parts are in a range of a text one behind the other."""
    for part in parts:
        # `str.find` is linear (two-way search), and each call goes on where the last one ended.
        found = text.find(part, start, end)
        if found < 0:
            return False
        start = found + len(part)
    return True
