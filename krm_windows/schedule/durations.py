"""Durations as Go writes and reads them: `1h30m`, `90s`, `1.5h` (`time.ParseDuration`)."""

import re
from decimal import ROUND_DOWN, Context, Decimal

_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
# U+00B5 and U+03BC: the micro sign and the Greek letter, which Go takes for one.
_UNIT = "ns|us|\u00b5s|\u03bcs|ms|s|m|h"
# 0 is the one number that needs no unit.
_DURATION = re.compile(rf"[-+]?(?:0|(?:(?:{_NUMBER})(?:{_UNIT}))+)")
_PART = re.compile(f"({_UNIT})")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
LARGEST = 2**63 - 1
# More digits than the largest has, and less than a nanosecond is cut off; what is larger than a
# Decimal can be is infinite.
_CUT = Context(prec=60, rounding=ROUND_DOWN, traps=[])


def nanoseconds(text: str) -> int | None:
    """Read a duration with or without a sign.

    None where Go reads none, what is too large for it included.
    """
    if not _DURATION.fullmatch(text):
        return None
    total = 0
    parts = _PART.split(text.lstrip("+-"))
    for number, unit in zip(parts[::2], parts[1::2], strict=False):  # nothing is behind the last
        length = _CUT.multiply(Decimal(number), _NANOSECONDS[unit])
        # One more than the largest may be reached: with a minus it is Go's least.
        if length > LARGEST + 1 - total:
            return None
        total += int(length)
    if text.startswith("-"):
        return -total
    return total if total <= LARGEST else None
