"""Durations as Go writes and reads them: `1h30m`, `90s`, `1.5h` (`time.ParseDuration`)."""

import re

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    # U+00B5 and U+03BC: the micro sign and the Greek letter, which Go takes for one.
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
LARGEST = 2**63 - 1
# Those of the largest.
_DIGITS = 19
# Digits of a fraction that count: an hour has fewer nanoseconds than this says.
_PRECISION = 18


def nanoseconds(text: str) -> int | None:
    """Read a duration with or without a sign.

    None where Go reads none, what is too large for it included.
    """
    is_negative = text.startswith("-")
    digits = text
    if text.startswith(("-", "+")):
        digits = text[1:]
    # The one number that needs no unit.
    if digits == "0":
        return 0
    total = _sum(digits)
    if total is None:
        return None
    if is_negative:
        return -total
    # The least int64 has no counterpart above zero.
    if total <= LARGEST:
        return total
    return None


def _sum(digits: str) -> int | None:
    """Add the parts up, one after the other, until one is none or the sum is too large."""
    total = 0
    place = 0
    while place < len(digits):
        part = _PART.match(digits, place)
        if part is None:
            return None
        length = _length(part[1], part[2] or "", _NANOSECONDS[part[3]])
        # One more than the largest may be reached: with a minus it is Go's least.
        if length is None or total + length > LARGEST + 1:
            return None
        total += length
        place = part.end()
    if digits:
        return total
    return None


def _length(whole: str, fraction: str, unit: int) -> int | None:
    """Return the nanoseconds of one part; None where it has no digit, or more than Go holds."""
    if not whole and not fraction:
        return None
    known = whole.lstrip("0")
    if len(known) > _DIGITS:
        return None
    precise = fraction[:_PRECISION]
    scale: int = 10 ** len(precise)
    # Both parts of the number as one, so that nothing is rounded before the unit is applied.
    return int(known + precise or "0") * unit // scale
