"""What may be asked for: dates, instants and numbers, as callers write them."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import duration

_FIRST_YEAR = 1970  # clocks of before were set in other ways
YEARS = range(_FIRST_YEAR, 3000)
"""Those that can be asked for."""
_MOMENTS = "a time such as 2026-12-20T09:00 (in the policy's zone) or 2026-12-20T09:00+01:00"
# ASCII only: `int` would also take Arabic digits, and `1_000`. More digits make no sense here.
_NUMBER = re.compile(r"0*[1-9][0-9]{0,8}")
# A date stays a date, and an instant stays one.
_Day = TypeVar("_Day", date, datetime)


class AskedError(ValueError):
    """What is asked for is none of what there is."""


def instant(text: str) -> datetime:
    """Read an instant; a time without an offset is none."""
    wanted = "an instant such as 2026-12-20T00:00Z or 2026-12-20T01:00+01:00"
    at = _moment(text, wanted)
    # Without an offset it could be anywhere on earth, and this machine's zone is no answer in CI.
    if at.tzinfo is None:
        raise AskedError(f"must be {wanted}, got {text!r}")
    return at


def day_or_moment(text: str) -> date | datetime:
    """Read a date, or a moment as `moment` does."""
    return _day(text) or _moment(text, f"a date such as 2026-12-20, or {_MOMENTS}")


def moment(text: str) -> datetime:
    """Read an instant, or a time without an offset: naive, by the clock of the policy's zone."""
    return _moment(text, _MOMENTS)


def _day(text: str) -> date | None:
    try:
        # A date first: `fromisoformat` of datetime takes a bare date for midnight, without an
        # offset.
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return possible(day, text)


def _moment(text: str, wanted: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise AskedError(f"must be {wanted}, got {text!r}") from None
    # First the year: `astimezone` fails at the ends of what datetime can hold.
    possible(at, text)
    return at if at.tzinfo is None else at.astimezone(UTC)


def count(text: str, what: str, most: int | None = None) -> int:
    """Read a number from 1 on, `most` at most; `what` says of what."""
    if not _NUMBER.fullmatch(text) or (most is not None and int(text) > most):
        limits = f"from 1 to {most}" if most is not None else "from 1 on"
        raise AskedError(f"must be a number of {what} {limits}, got {text!r}")
    return int(text)


def length(text: object) -> timedelta:
    """Read a duration such as `2h`, which must be longer than nothing."""
    try:
        found = duration(str(text))
    except RefusedError as error:
        raise AskedError(str(error)) from None
    if not found:
        raise AskedError("must be longer than zero")
    return found


def possible(day: _Day, text: str) -> _Day:
    """Return what is in the years that can be asked for.

    Raise `AskedError` for anything else.
    """
    if day.year < _FIRST_YEAR:
        raise AskedError(f"must be in {_FIRST_YEAR} or later, got {text!r}")
    if day.year not in YEARS:
        raise AskedError(f"must be in {YEARS[-1]} or earlier, got {text!r}")
    return day
