"""`krm-windows completion`: a script that completes commands, options and values in a shell."""

import argparse
from collections.abc import Iterator

import shtab

from krm_windows.cli import output
from krm_windows.cli.arguments import parser as parser_of
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode

# What a metavar of our commands stands for; any other is text that nobody can complete.
_FILES = {"FILE", "JSON|@FILE|-", "NEW", "OLD", "PATH", "POLICY", "RENDERED", "URL|FILE"}
_DIRECTORIES = {"BASE", "DIR", "OUT"}


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the script, which starts no Python at a press of the tab key."""
    # As for a call that names all commands, so that the options of all are declared.
    whole = parser_of(COMMANDS, ["", *COMMANDS])
    for action in _actions(whole):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab asks for it
        elif action.metavar in _DIRECTORIES:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # likewise
    output.show(shtab.complete(whole, shell=arguments.shell))
    return ExitCode.FINE


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield what the program and its commands take."""
    for action in parser._actions:  # noqa: SLF001 - argparse shows them in no other way
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for command in action.choices.values():
                yield from _actions(command)
