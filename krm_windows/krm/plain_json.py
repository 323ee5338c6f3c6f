"""JSON that is no resource of ours, within the limits of foreign text.

Such as annotations, and what kubectl prints.
"""

import json
import re
from collections.abc import Iterator

from krm_windows.krm import limits
from krm_windows.krm.errors import ExcessError
from krm_windows.krm.lines import end_of

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"\s*")
_TOO_DEEP = f"the JSON is nested more than {limits.DEPTH} levels deep"


def read(text: str | bytes) -> object:
    """Give what a text, or UTF-8, holds.

    Raises ValueError where it is no JSON, ExcessError where it is nested too deeply.
    """
    # A UnicodeDecodeError is a ValueError, and so is what is raised for none or several.
    [value] = values(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    return value


def values(text: str) -> Iterator[object]:
    """Give the values of a text that holds several, one after the other; raises as `read` does."""
    place = end_of(_SPACE, text, 0)
    while place < len(text):
        try:
            # The C decoder recurses: too deep for it is too deep for us.
            value, place = _DECODER.raw_decode(text, place)
        except RecursionError as error:
            raise ExcessError(_TOO_DEEP) from error
        check_depth(value)
        yield value
        place = end_of(_SPACE, text, place)


def check_depth(value: object, most: int = limits.DEPTH) -> None:
    """Refuse what is too deep; raises ExcessError."""
    if not isinstance(value, dict | list):
        return
    if not most:
        raise ExcessError(_TOO_DEEP)
    for inner in value.values() if isinstance(value, dict) else value:
        check_depth(inner, most - 1)
