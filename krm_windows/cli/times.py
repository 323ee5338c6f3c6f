"""Dates, instants and numbers, as commands take them."""

import argparse
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TypeVar

from krm_windows.plan.clocks import Today
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.preview import parameters
from krm_windows.preview.calendar import Period
from krm_windows.preview.parameters import AskedError
from krm_windows.schedule import wallclock

_Read = TypeVar("_Read")

# Ten years, leap days included.
_MOST_DAYS = 3660


def options(parser: argparse.ArgumentParser, *, days: int) -> None:
    """Declare the options of a command that looks at a range of days."""
    parser.add_argument(
        "--from",
        dest="start",
        type=day_or_moment,
        metavar="DATE|TIME",
        help="the first day, or an instant; after an instant, a day is 24 hours (default: today)",
    )
    parser.add_argument(
        "--days",
        type=number_of_days,
        default=days,
        metavar="N",
        help=f"how many days (default: {days})",
    )


def period(arguments: argparse.Namespace) -> Period:
    """Return the days asked for; without a beginning they begin today, wherever a policy is."""
    return Period(arguments.start or today(), arguments.days)


def today() -> Today:
    """Read the clock; which date it shows is known in a zone."""
    return Today(now())


def now() -> datetime:
    """Read the clock."""
    return datetime.now(UTC)


def instant(moment: datetime | None, zone: tzinfo, otherwise: datetime) -> datetime:
    """Return the instant of `--at` in a policy's time zone, or else another one."""
    return otherwise if moment is None else wallclock.utc(moment, zone)


def day_or_moment(text: str) -> date | datetime:
    """Read `2026-12-20`, `2026-12-20T09:00` or `2026-12-20T09:00+01:00`."""
    return _typed(lambda: parameters.day_or_moment(text))


def moment(text: str) -> datetime:
    """Read a time; one without an offset is naive, and meant in the zone of the policy."""
    return _typed(lambda: parameters.moment(text))


def count(text: str, what: str, most: int | None = None) -> int:
    """Read a number from 1 on, `most` at most; `what` says of what."""
    return _typed(lambda: parameters.count(text, what, most))


def number_of_days(text: str) -> int:
    """Read a number of days, ten years at most."""
    return count(text, "days", _MOST_DAYS)


def length(text: str) -> timedelta:
    """Read a duration such as `2h`, which must be longer than nothing."""
    try:
        found = moments.duration(text)
    except RefusedError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found:
        raise argparse.ArgumentTypeError("must be longer than zero")
    return found


def any_day(text: str) -> date:
    """Read a date of any year."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-12-20, got {text!r}"
        ) from None


def day(text: str) -> date:
    """Read a date in the years that can be asked for."""
    found = any_day(text)
    return _typed(lambda: parameters.possible(found, text))


def _typed(read: Callable[[], _Read]) -> _Read:
    """Read an argument; what is wrong with it is said as argparse has it."""
    try:
        return read()
    except AskedError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
