"""Two clocks: this node's, and the API server's, which sends its `Date` with every answer."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Beyond that nothing is opened. An answer may be on its way for ten seconds.
MOST = timedelta(seconds=60)


def now() -> datetime:
    """Read this node's clock: an instant, in UTC."""
    return datetime.now(UTC)


def skew(date: str | None, answered: datetime) -> timedelta:
    """Say how far our clock is ahead of a `Date`, by when that came; not at all if it is none."""
    with suppress(TypeError, ValueError, OverflowError):  # TypeError: it is of no time zone
        return answered - parsedate_to_datetime(date or "")
    return timedelta(0)
