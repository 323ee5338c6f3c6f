"""The page of commands: everything that the parser takes, and nothing else."""

import argparse
import re

import commands_page
import pytest

from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode

PAGE = commands_page.PAGE.read_text()


def test_the_page_is_current() -> None:
    """Whoever changes an option, a page that shows it, or an exit code, generates it anew."""
    is_current = commands_page.page() == PAGE
    assert is_current, "python tests/commands_page.py --write"


def section(command: str) -> str:
    """Return what the page says of a command."""
    found = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, command
    return found[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_its_options_an_example_and_a_page(command: str) -> None:
    """Each option by every one of its names; the page runs the command."""
    text = section(command)
    for action in commands_page.parser(command)._actions:
        if action.dest in commands_page.EVERYWHERE:
            continue
        if action.help == argparse.SUPPRESS:
            continue
        for option in action.option_strings:
            assert f"`{option}" in text
        assert action.help, action.dest
    assert f"krm-windows {command}" in text.partition("```sh")[2]
    assert "\nShown in [" in text


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_has_a_meaning(code: ExitCode) -> None:
    """In the table of the page, as a sentence."""
    assert re.search(rf"^\| {code.value} \| \S.*\. \|$", PAGE, re.MULTILINE)
