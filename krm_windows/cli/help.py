"""`krm-windows help`: what `--help` of the program or of a command says."""

import argparse

from krm_windows.cli import output
from krm_windows.cli.arguments import help_of
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "command",
        nargs="?",
        choices=COMMANDS,
        metavar="COMMAND",
        help="the command (default: list all commands)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the help."""
    output.show(help_of(arguments.command))
    return ExitCode.FINE
