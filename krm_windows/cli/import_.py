"""`krm-windows import`: holidays or a calendar's events as freezes, or windows, to paste."""

import argparse
import re

from krm_windows.cli import inputs, output, times
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

_YEARS = range(1970, 3000)
# A generation; a range such as 1970-2999 is a typing error.
_MOST_YEARS = 30


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "file", nargs="?", metavar="FILE", help="a calendar (RFC 5545), or - for standard input"
    )
    what.add_argument(
        "--holidays",
        metavar="COUNTRY",
        help="public holidays instead, by the ISO 3166 code of the country, such as DE",
    )
    parser.add_argument(
        "--windows",
        action="store_true",
        help="make windows of the events, for a calendar of when changes may happen",
    )
    parser.add_argument(
        "--subdivision", metavar="S", help="a state, province or canton, such as BY"
    )
    parser.add_argument(
        "--language",
        metavar="L",
        default="en_US",
        help="the language of the reasons (default: en_US)",
    )
    parser.add_argument(
        "--years",
        type=_years,
        metavar="FIRST-LAST",
        help="one year, or a range (default: this year and the next, in any time zone)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the field `freezes`, or `windows` where the events say when changes may happen."""
    if arguments.holidays and arguments.windows:
        raise UsageError("--windows needs FILE: nothing says that changes happen on holidays")
    if arguments.subdivision and not arguments.holidays:
        raise UsageError("--subdivision needs --holidays")
    # No policy is given, and so no zone: at the turn of the year it is this year in two of them.
    this = times.today().years()
    # In autumn the holidays of next year are what is missing.
    years = arguments.years or range(this.start, this.stop + 1)
    output.show(_holidays(years, arguments) if arguments.holidays else _events(years, arguments))
    return ExitCode.FINE


def _holidays(years: range, arguments: argparse.Namespace) -> str:
    from krm_windows.edit import entries, public_holidays  # noqa: PLC0415 - an extra

    place = arguments.holidays, arguments.subdivision, years, arguments.language
    try:
        # Without `--subdivision` only what holds in the whole country.
        return entries.render(public_holidays.entries(*place))
    except ValueError as error:
        raise InputError(str(error)) from error


def _events(years: range, arguments: argparse.Namespace) -> str:
    from krm_windows.edit import icalendar_events  # noqa: PLC0415 - the packages are an extra

    content = inputs.content(arguments.file)
    try:
        found = icalendar_events.render(content, years, windows=arguments.windows)
    except ValueError as error:
        raise InputError(f"{arguments.file}: cannot be imported: {error}") from error
    if not found:
        output.log(f"{arguments.file}: no events in these years, so there is nothing to print")
    return found


def _years(text: str) -> range:
    found = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text, re.ASCII)
    # A single year, `2027`, is a range of one.
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if first not in _YEARS or last not in _YEARS or not 0 <= last - first < _MOST_YEARS:
        raise argparse.ArgumentTypeError(
            f"must be a year or a range such as 2027-2029, got {text!r}"
        )
    return range(first, last + 1)
