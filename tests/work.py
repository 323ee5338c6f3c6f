"""Work that is counted, for tests of how it grows: a clock would measure the machine instead."""

import sys
from collections.abc import Callable
from types import FrameType


def steps(call: Callable[[], object]) -> int:
    """Return how many instructions of Python a call takes (bytecode, at whatever depth)."""
    counted = 0

    def trace(
        frame: FrameType, event: str, _: object
    ) -> Callable[[FrameType, str, object], object]:
        nonlocal counted
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        counted += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return counted


def growth(call: Callable[[int], object], size: int) -> float:
    """Return how many times the work grows when the size doubles: 2 is linear, 4 quadratic."""
    call(size)
    # Fewer steps than the size has are no growth but what a cache has forgotten.
    return steps(lambda: call(2 * size)) / max(steps(lambda: call(size)), size)


def calls(call: Callable[[], object]) -> int:
    counted = 0

    def count(_frame: FrameType, event: str, _: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return counted
