"""Work that is counted, for tests of how it grows: a clock says nothing on a busy machine."""

import sys
from collections.abc import Callable


def steps(run: Callable[[], object]) -> int:
    """Count the calls of Python functions that `run` makes: work, and not time."""
    counted = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return counted
