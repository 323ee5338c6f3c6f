"""JSON that is no resource of ours, within the limits of foreign text.

Such as annotations, and what kubectl prints.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator

from krm_windows.krm import limits
from krm_windows.krm.errors import ExcessError
from krm_windows.krm.lines import end_of

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")


def read(text: str | bytes) -> object:
    """Give what a text, or UTF-8, holds.

    Raises ValueError where it is no JSON, ExcessError where it is nested too deeply.
    """
    if isinstance(text, bytes):
        # A UnicodeDecodeError is a ValueError.
        text = text.decode("utf-8-sig")
    begin = _next(text, 0)
    value, end = _decoded(_DECODER.raw_decode, text, begin)
    if _next(text, end) < len(text):
        raise ValueError("unexpected content after the JSON")
    return value


def values(text: str) -> Iterator[object]:
    """Give the values of a text that holds several, one after the other; raises as `read` does."""
    place = _next(text, 0)
    while place < len(text):
        value, place = _decoded(_DECODER.raw_decode, text, place)
        yield value
        place = _next(text, place)


def _decoded(
    decode: Callable[[str, int], tuple[object, int]],
    text: str,
    place: int,
) -> tuple[object, int]:
    try:
        # The C decoder recurses: too deep for it is too deep for us.
        value, end = decode(text, place)
    except RecursionError as error:
        raise _too_deep() from error
    check_depth(value)
    return value, end


def check_depth(value: object) -> None:
    """Refuse what is too deep, level by level and not by recursion; raises ExcessError."""
    level = [value]
    # Breadth first: the recursion of Python would end before that of a hostile text.
    for _ in range(limits.DEPTH):
        below: list[object] = []
        for outer in level:
            below += _inside(outer)
        if not below:
            return
        level = below
    raise _too_deep()


def _inside(value: object) -> Iterable[object]:
    """Give the collections in a collection: only they can hold more."""
    if isinstance(value, dict):
        found: Iterable[object] = value.values()
    elif isinstance(value, list):
        found = value
    else:
        return ()
    return [inner for inner in found if isinstance(inner, dict | list)]


def _next(text: str, place: int) -> int:
    """Give where the next value begins."""
    return end_of(_SPACE, text, place)


def _too_deep() -> ExcessError:
    return ExcessError(f"the JSON is nested more than {limits.DEPTH} levels deep")
