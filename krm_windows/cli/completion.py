"""`krm-windows completion`: a script that completes commands, options and values in a shell."""

import argparse

from krm_windows.cli import output
from krm_windows.cli.arguments import parser as parser_of
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the script, which starts no Python at a press of the tab key."""
    import shtab  # noqa: PLC0415 - the extra `completion`

    # As for a call that names all commands, so that the options of all are declared.
    whole = parser_of(COMMANDS, ["", *COMMANDS])
    output.show(shtab.complete(whole, shell=arguments.shell))
    return ExitCode.FINE
