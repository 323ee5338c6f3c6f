"""Sets of small numbers as the bits of an integer: the minutes of a day, the days of a year.

One operation on such a set costs as little as on a number, whatever is in it. Bit 0 is the first
minute, or 1 January. Days are counted as `date.toordinal` does, minutes of a day from midnight on.
"""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, time

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
    """Return the set of these numbers, each given once."""
    return sum([1 << number for number in numbers])  # quicker than a generator


def numbers(bits: int) -> Iterator[int]:
    """Yield the numbers of a set, in order."""
    while bits:
        yield first(bits)
        bits &= bits - 1


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

    As chess programs fill the lines of a board, by the carry of one addition.
    """
    # Added to a run of ones, the first number that is entered carries to the run's end, and turns
    # to zeros what it passes: 0b0111100 + 0b0001000 is 0b1000100.
    entered = (begins << 1) & through
    passed = through ^ (through & (through + entered))
    return begins | entered | passed


def lasting(begins: int, minutes: int) -> int:
    """Return each number of a set with those that follow it, `minutes` in all.

    Some may lie beyond the day.
    """
    covered = begins
    done = 1
    while done < minutes:  # with each step they are twice as many, but for the last
        step = min(done, minutes - done)
        covered |= covered << step
        done += step
    return covered


def leading(ends: int, minutes: int) -> int:
    """Return each number of a set with those before it, `minutes` in all."""
    return lasting(ends, minutes) >> (minutes - 1)
