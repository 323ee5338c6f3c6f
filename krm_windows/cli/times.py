"""Dates, instants and numbers, as commands take them."""

import argparse
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial
from typing import ParamSpec, TypeVar

from krm_windows.edit import overrides
from krm_windows.plan.clocks import Day, Today
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.moments import Role
from krm_windows.preview import parameters
from krm_windows.preview.calendar import Period
from krm_windows.preview.parameters import AskedError
from krm_windows.schedule import wallclock

_P = ParamSpec("_P")
_Read = TypeVar("_Read")


_FIRST = (
    "the first day (also tomorrow, or Monday), or an instant; after an instant, a day is 24 hours "
    "(default: today)"
)


def options(parser: argparse.ArgumentParser, *, days: int, begins: str = "") -> None:
    """Declare the options of a command that looks at a range of days.

    What `--from` means is told by `begins` where it is more, and it is read by the command.
    """
    read = str if begins else first_day
    parser.add_argument(
        "--from", dest="start", type=read, metavar="DATE|TIME", help=begins or _FIRST
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


def _type(read: Callable[_P, _Read]) -> Callable[_P, _Read]:
    """Return what reads an argument; what is wrong with it is said as argparse has it."""

    def typed(*given: _P.args, **named: _P.kwargs) -> _Read:
        try:
            return read(*given, **named)
        except AskedError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return typed


day_or_moment = _type(parameters.day_or_moment)
"""Reads `2026-12-20`, `2026-12-20T09:00` or `2026-12-20T09:00+01:00`."""
moment = _type(parameters.moment)
"""Reads a time; one without an offset is naive, and meant in the zone of the policy."""
count = _type(parameters.count)
"""Reads a number from 1 on, `most` at most; `what` says of what."""
length = _type(parameters.length)
"""Reads a duration such as `2h`, which must be longer than nothing."""
number_of_days = partial(count, what="days", most=3660)
"""Reads a number of days: ten years at most, leap days included."""


@dataclass(frozen=True, slots=True)
class SpokenDay(Today):
    """A day in words: `tomorrow`, or the first `Monday` from today on."""

    words: str

    def on(self, zone: tzinfo) -> date:
        """Return that day on the clocks of a zone; raises RefusedError where it is none."""
        today = datetime.combine(Today(self.at).on(zone), time(), zone)
        before = today - timedelta(minutes=1)
        found = overrides.moment(self.words, before, zone, Role.BEGIN, self.at)
        return found.astimezone(zone).date()


def first_day(text: str) -> Day:
    """Read `Monday`, or what `day_or_moment` does."""
    spoken = SpokenDay(now(), text)
    # Of more words `last Monday` would be that of a month.
    with suppress(RefusedError):
        if text.isalpha():
            spoken.on(UTC)
            return spoken
    return day_or_moment(text)


def any_day(text: str) -> date:
    """Read a date of any year."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-12-20, got {text!r}"
        ) from None


@_type
def day(text: str) -> date:
    """Read a date in the years that can be asked for."""
    return parameters.possible(any_day(text), text)
