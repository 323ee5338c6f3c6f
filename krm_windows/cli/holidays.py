"""`krm-windows holidays`: a country's public holidays as freezes to paste."""

import argparse

from krm_windows.cli import output, years
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

# What the extra `holidays` names: krm-windows itself is on no public index, where anybody may take
# its name.
NEEDS = "pip install 'holidays>=0.80,<1'"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("country", metavar="COUNTRY", help="the ISO 3166 code, such as DE")
    parser.add_argument(
        "--subdivision", metavar="S", help="a state, province or canton, such as BY"
    )
    parser.add_argument(
        "--language",
        metavar="L",
        default="en_US",
        help="the language of the reasons (default: en_US)",
    )
    years.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the field `freezes`."""
    try:
        from krm_windows.edit import entries, public_holidays  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise InputError(f"`holidays` needs an additional package: {NEEDS}") from error
    try:
        # Without `--subdivision` only what holds in the whole country.
        place = (
            arguments.country,
            arguments.subdivision,
            years.requested(arguments),
            arguments.language,
        )
        output.show(entries.render(public_holidays.entries(*place)))
    except (public_holidays.UnknownPlaceError, ValueError) as error:
        raise InputError(str(error)) from error
    return ExitCode.FINE
