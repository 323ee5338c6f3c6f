"""Two clocks: this node's, and the API server's, which it sends with every answer.

That is the header `Date` (RFC 9110, 6.6.1).
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from threading import Lock

_read = lru_cache(16)(parsedate_to_datetime)  # for a second all answers say the same

# Beyond that nothing is opened; nodes that keep time at all are apart by less than a second.
MOST = timedelta(seconds=60)
_SECOND = timedelta(seconds=1)  # a `Date` has no fractions


def now() -> datetime:
    """Read this node's clock: an instant, in UTC."""
    return datetime.now(UTC)


@dataclass
class Clocks:
    """How far our clock is ahead of the API server's, at worst.

    Less than nothing if it is behind, None if the server never said. Threads share it, and what it
    holds only grows.
    """

    skew: timedelta | None = None
    _storing: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    @property
    def are_apart(self) -> bool:
        """Whether they are too far apart to open anything."""
        return self.skew is not None and abs(self.skew) > MOST

    def compare(
        self,
        date: str | None,
        asked: datetime,
        answered: datetime,
    ) -> None:
        """Take a `Date` into account, by when we have asked and were answered.

        One that cannot be read says nothing.
        """
        found = skew(date, asked, answered)
        if found is None:
            return
        # Else a smaller one could replace a larger one that another thread stores meanwhile.
        with self._storing:
            if self.skew is None or abs(found) > abs(self.skew):
                self.skew = found

    def words(self) -> str:
        """Say how far they are apart."""
        seconds = seconds_of(self.skew) or 0
        way = "behind"
        if seconds > 0:
            way = "ahead of"
        return f"this node's clock is {abs(seconds)} s {way} the API server's: nothing was opened"


def seconds_of(found: timedelta | None) -> int | None:
    """Give whole seconds."""
    if found is None:
        return None
    return round(found.total_seconds())


def skew(
    date: str | None,
    asked: datetime,
    answered: datetime,
) -> timedelta | None:
    """Say how far our clock is ahead of a `Date`, at least.

    None if that cannot be read, or is of no time zone. A server writes a whole second, some time
    between the request and the end of its answer. Only what lies outside of that is skew: an answer
    that takes long, or a process that was stopped meanwhile, is none.
    """
    if date is None:
        return None
    try:
        said = _read(date)
        ahead = asked - said - _SECOND
        behind = answered - said
    except (TypeError, ValueError, OverflowError):  # TypeError: it is of no time zone
        return None
    # At most one of the two is skew: the first if it is more than nothing, the second if less.
    return max(ahead, min(behind, timedelta(0)))
