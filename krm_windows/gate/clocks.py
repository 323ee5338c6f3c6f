"""Two clocks: this node's, and the API server's, which sends its `Date` with every answer."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from threading import Lock

# Beyond that nothing is opened. Nodes that keep time at all are apart by less than a second, and an
# answer may be on its way for ten.
MOST = timedelta(seconds=60)


def now() -> datetime:
    """Read this node's clock: an instant, in UTC."""
    return datetime.now(UTC)


@dataclass
class Clocks:
    """How far our clock is ahead of the API server's, at worst, with the way of an answer."""

    skew: timedelta = timedelta(0)
    _storing: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def are_apart(self) -> bool:
        """Whether they are too far apart to open anything."""
        return abs(self.skew) > MOST

    def compare(self, date: str | None, answered: datetime) -> None:
        """Take a `Date` into account, if it can be read, by when it came."""
        # TypeError: it is of no time zone.
        with suppress(TypeError, ValueError, OverflowError), self._storing:
            self.skew = max(self.skew, answered - parsedate_to_datetime(date or ""), key=abs)
