"""Two clocks: this node's, and the API server's, which sends its `Date` with every answer."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from threading import Lock

# Beyond that nothing is opened; nodes that keep time at all are apart by less than a second.
MOST = timedelta(seconds=60)
_SECOND = timedelta(seconds=1)  # a `Date` has no fractions (RFC 9110, 6.6.1)


def now() -> datetime:
    """Read this node's clock: an instant, in UTC."""
    return datetime.now(UTC)


@dataclass
class Clocks:
    """How far our clock is ahead of the API server's, at worst."""

    skew: timedelta = timedelta(0)
    _storing: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def are_apart(self) -> bool:
        """Whether they are too far apart to open anything."""
        return abs(self.skew) > MOST

    @property
    def seconds(self) -> int:
        """The skew in whole seconds."""
        return round(self.skew.total_seconds())

    def compare(self, date: str | None, asked: datetime, answered: datetime) -> None:
        """Take a `Date` into account, by when we have asked and were answered."""
        found = skew(date, asked, answered)
        with self._storing:  # else less could be stored in place of what another thread found
            if found and abs(found) > abs(self.skew):
                self.skew = found


def skew(date: str | None, asked: datetime, answered: datetime) -> timedelta | None:
    """Say how far our clock is ahead of a `Date`, at least; None if that cannot be read.

    A server writes a whole second, some time between the request and the end of its answer. Only
    what lies outside of that is skew: an answer that takes long is none.
    """
    try:
        said = parsedate_to_datetime(date or "")
        ahead, behind = asked - said - _SECOND, answered - said
    except (TypeError, ValueError, OverflowError):  # TypeError: it is of no time zone
        return None
    # At most one of the two is skew: the first if it is more than nothing, the second if less.
    return max(ahead, min(behind, timedelta(0)))
