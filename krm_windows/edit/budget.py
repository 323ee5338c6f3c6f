"""A limit on the work of code that is not ours.

Its calls are counted, so that every machine stops at one place. An expansion of a recurring event
may go through eight thousand years for a rule that never matches, and what makes it do so has too
many forms to be refused one by one.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MOST_CALLS = 1_000_000


class ExhaustedError(ValueError):
    """More work than is allowed."""


@contextmanager
def limited() -> Iterator[None]:
    """Raise ExhaustedError within, once functions were called so many times."""
    left = MOST_CALLS

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal left
        # Returns and exceptions come here, too.
        if event in ("call", "c_call"):
            left -= 1
            if left < 0:
                raise ExhaustedError(
                    f"reading it takes more than {MOST_CALLS} steps: an event repeats too often, "
                    "or its rule matches no date"
                )

    # `sys.setprofile` takes one function: a measurement of speed may be under way.
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)
