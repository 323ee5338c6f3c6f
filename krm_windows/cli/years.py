"""The years that a command is about."""

import argparse
import re

from krm_windows.cli import times

_YEARS = range(1970, 3000)
# A generation; a range such as 1970-2999 is a typing error.
_MOST = 30


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the option."""
    parser.add_argument(
        "--years",
        type=_years,
        metavar="FIRST-LAST",
        help="one year, or a range (default: this year and the next, in any time zone)",
    )


def requested(arguments: argparse.Namespace) -> range:
    """Return the years asked for."""
    # No policy is given, and so no zone: at the turn of the year it is this year in two of them.
    this = times.today().years()
    # In autumn the holidays of next year are what is missing.
    years: range = arguments.years or range(this.start, this.stop + 1)
    return years


def _years(text: str) -> range:
    found = re.fullmatch(r"(\d{4})(?:-(\d{4}))?", text, re.ASCII)
    # A single year, `2027`, is a range of one.
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if first not in _YEARS or last not in _YEARS or not 0 <= last - first < _MOST:
        raise argparse.ArgumentTypeError(
            f"must be a year or a range such as 2027-2029, got {text!r}"
        )
    return range(first, last + 1)
