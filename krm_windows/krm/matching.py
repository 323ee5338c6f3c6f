"""Matching a pattern that matches the empty text, too, and so matches at every place."""

import re
from typing import AnyStr


def end_of(
    pattern: re.Pattern[AnyStr],
    text: AnyStr,
    place: int,
    stop: int | None = None,
) -> int:
    """Give the end of what a pattern matches at a place, the place itself where that is nothing.

    Nothing at or behind `stop` is matched.
    """
    if stop is None:
        stop = len(text)
    found = pattern.match(text, place, stop)
    # A type checker knows nothing of the pattern.
    if found is None:
        raise TypeError(f"{pattern.pattern!r} does not match the empty text")
    return found.end()
