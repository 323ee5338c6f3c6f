"""What the commands about the past share: the repository, and spans of time that are over."""

import argparse
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from krm_windows.cli import output, times
from krm_windows.edit import overrides
from krm_windows.krm import InputError
from krm_windows.policy.findings import RefusedError
from krm_windows.preview import parameters
from krm_windows.preview.clock import instant
from krm_windows.preview.parameters import AskedError
from krm_windows.schedule import wallclock
from krm_windows.system.git_history import History

_SPAN = re.compile(r"([1-9][0-9]{0,3})([dwy])")
_DAYS = {"d": 1, "w": 7, "y": 365}
_BEGINNING = "--from"
# A file has the width that pull requests and logs show whole; a terminal may be narrower, or wider.
_WIDTH = 80
_WIDTHS = range(60, 101)
Beginning = timedelta | date | str
"""`90d` before the end, or a day, or an instant, or words: `last Tuesday`."""


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say where the commits are."""
    parser.add_argument(
        "--repo",
        default=".",
        metavar="DIR",
        help="a clone of the repository, or a directory in it (default: %(default)s)",
    )
    parser.add_argument(
        "--ref",
        default="HEAD",
        metavar="REF",
        help="the branch, tag or commit whose history is read (default: %(default)s)",
    )


def add_period(parser: argparse.ArgumentParser, default: str) -> None:
    """Declare a period; `default` is that of its beginning, such as `90d`."""
    parser.add_argument(
        _BEGINNING,
        # As `git log` has it, which people ask the same question.
        "--since",
        dest="start",
        type=since,
        default=since(default),
        metavar="TIME",
        help="the beginning: a DATE or INSTANT, yesterday, 'Tuesday 14:00', or days, weeks or "
        f"years of 365 days before the end such as 90d, 12w or 1y (default: {default})",
    )
    parser.add_argument(
        "--until",
        type=day_or_words,
        metavar="DATE|INSTANT",
        help="the end, not included (default: now)",
    )


def since(text: str) -> Beginning:
    """Read `90d`, `12w`, `1y`, or what `day_or_words` does."""
    # Not as in a policy, where `1m` is a minute and there are no years.
    found = _SPAN.fullmatch(text)
    if found is None:
        return day_or_words(text)
    return timedelta(days=int(found[1]) * _DAYS[found[2]])


def day_or_words(text: str) -> date | str:
    """Read a date, an instant, or words for one that is over: `Tuesday`, `yesterday 14:00`."""
    try:
        # Which instant it is, only the clock of a policy says.
        overrides.past(text, times.now(), ZoneInfo("UTC"))
    except (InputError, RefusedError):
        return times.day_or_moment(text)
    return text


def period(
    beginning: Beginning, end: date | str | None, zone: ZoneInfo
) -> tuple[datetime, datetime]:
    """Return the half-open UTC interval that is asked for; a date begins at midnight in a zone.

    Raises InputError where nothing is in the interval, or where it begins before what can be asked
    for.
    """
    # The one place that reads the clock: all else is given instants.
    ends = times.now() if end is None else at(end, zone)
    try:
        if isinstance(beginning, timedelta):
            begins = parameters.possible(ends - beginning, _BEGINNING)
        else:
            begins = at(beginning, zone)
    except (AskedError, ValueError, OverflowError):
        raise InputError(f"{_BEGINNING} must be in {parameters.YEARS[0]} or later") from None
    # Nothing can be in between, and a table of zeros would look like an answer.
    if begins >= ends:
        raise InputError(
            f"{_BEGINNING}, {begins:%Y-%m-%d %H:%M}Z, must be before the end, "
            f"{ends:%Y-%m-%d %H:%M}Z"
        )
    return begins, ends


def at(moment: date | str, zone: ZoneInfo) -> datetime:
    """Return the UTC instant of an instant, of words, or of a day's first minute in a zone."""
    if isinstance(moment, str):
        return overrides.past(moment, times.now(), zone)
    # A datetime is a date for Python, so it is asked first.
    if isinstance(moment, datetime):
        return wallclock.utc(moment, zone)
    return wallclock.instant(datetime.combine(moment, time()), zone)


def known(
    history: History, begins: datetime, ends: datetime, say: Callable[[str], object] = output.log
) -> datetime:
    """Return from when on a period is known: where a shallow clone lacks a part, from its end on.

    Then `say` is told. Raises InputError where nothing of the period is known.
    """
    first = history.commits[-1]
    cut = instant(first.committed)
    if not history.is_cut or (cut and cut <= begins):
        return begins
    missing = f"{history.directory}: the clone is shallow, and the history before {first.name[:12]}"
    if cut is None or cut >= ends:
        raise InputError(f"{missing}, so all of this period, is missing: run git fetch --unshallow")
    say(
        f"{missing} is missing, so what was before {cut:%Y-%m-%d %H:%M}Z is unknown and left out: "
        "run git fetch --unshallow"
    )
    return cut


def width() -> int:
    """Return how many columns a page may have: those of a terminal, within reason."""
    columns = output.width() or _WIDTH
    return min(max(columns, _WIDTHS.start), _WIDTHS[-1])
