"""`krm-windows import-ics`: the events of a company calendar as freezes, or windows, to paste."""

import argparse

from krm_windows.cli import inputs, output, years
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

# What the extra `ics` names: krm-windows itself is on no public index, where anybody may take its
# name.
NEEDS = "pip install 'icalendar>=6.1,<8' 'recurring-ical-events>=3.8,<4'"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "file", metavar="FILE", help="a calendar (RFC 5545), or - for standard input"
    )
    parser.add_argument(
        "--windows",
        action="store_true",
        help="make windows of the events, for a calendar of when changes may happen",
    )
    years.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the field `freezes`, or `windows` where the events say when changes may happen."""
    try:
        from krm_windows.edit import icalendar_events  # noqa: PLC0415 - the packages are an extra
    except ModuleNotFoundError as error:
        raise InputError(f"`import-ics` needs two additional packages: {NEEDS}") from error
    content = inputs.content(arguments.file)
    try:
        # icalendar raises ValueError for whatever it cannot read.
        found = icalendar_events.render(
            content, years.requested(arguments), windows=arguments.windows
        )
    except InputError as error:
        raise error.in_file(arguments.file) from error
    except ValueError as error:
        raise InputError(f"{arguments.file}: is not a calendar: {error}") from error
    if not found:
        output.log(f"{arguments.file}: no events in these years, so there is nothing to print")
    output.show(found)
    return ExitCode.FINE
