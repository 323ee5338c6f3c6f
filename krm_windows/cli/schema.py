"""`krm-windows schema`: the fields of WindowPolicy and ChangeClasses, for editors and readers."""

import argparse

from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode
from krm_windows.function import dispatch, kinds


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "--kind",
        choices=sorted(dispatch.KINDS),
        default="WindowPolicy",
        help="default: WindowPolicy",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=sorted(kinds.FORMS),
        default="json",
        help="JSON Schema, KRMFunctionDefinition or Markdown",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the form asked for."""
    output.show(kinds.read(arguments.kind, arguments.output))
    return ExitCode.FINE
