"""Sets of small numbers as the bits of an integer: the minutes of a day, the days of a year.

One operation on such a set costs as little as on a number, whatever is in it. Bit 0 is the first
minute, or 1 January. Days are counted as `date.toordinal` does, minutes of a day from midnight on.
"""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from operator import lshift, rshift

DAY = 1440  # minutes
FULL = (1 << DAY) - 1
# The first and the last day that have a date.
FIRST_DAY = date.min.toordinal()
LAST_DAY = date.max.toordinal()


def moment(day: int, minute: int) -> datetime:
    """Return the naive moment of a minute of a day; raise `ValueError` for a day of no date."""
    hour, of_hour = divmod(minute, 60)
    return datetime.combine(date.fromordinal(day), time(hour, of_hour))


def of(numbers: Iterable[int]) -> int:
    """Return the set of these numbers."""
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits


def below(count: int) -> int:
    """Return the numbers from 0 up to `count`, without it; none where it is not positive."""
    return (1 << max(count, 0)) - 1


def first(bits: int) -> int:
    """Return the smallest number of a set that is not empty."""
    return (bits & -bits).bit_length() - 1  # in two's complement, only the lowest bit is left


def last(bits: int) -> int:
    """Return the greatest number of a set that is not empty."""
    return bits.bit_length() - 1


def filled(begins: int, through: int) -> int:
    """Return `begins`, and what follows each of them without a gap in `through`.

    Each step carries twice as far as the one before, as chess programs fill the lines of a board
    (Kogge and Stone).
    """
    # After n steps each beginning has carried over 2**n - 1 numbers, and `through` holds those
    # before which as many are free.
    step = 1
    while through:
        begins |= through & (begins << step)
        through &= through << step
        step *= 2
    return begins


def lasting(begins: int, minutes: int) -> int:
    """Return each number of a set with those that follow it, `minutes` in all.

    Some may lie beyond the day.
    """
    return _spread(begins, minutes, lshift)


def leading(ends: int, minutes: int) -> int:
    """Return each number of a set with those before it, `minutes` in all."""
    return _spread(ends, minutes, rshift)


def _spread(
    numbers: int,
    length: int,
    shift: Callable[[int, int], int],
) -> int:
    """Return `length` numbers for each, the others to one side of it.

    With each step they are twice as many, but for the last.
    """
    covered = numbers
    done = 1
    while done < length:
        step = min(done, length - done)
        covered |= shift(covered, step)
        done += step
    return covered
