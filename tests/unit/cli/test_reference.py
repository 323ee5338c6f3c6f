"""The page of commands."""

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


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_a_page(command: str) -> None:
    """It is in the list, with a page that runs it; and `--help` says what each option does."""
    assert re.search(rf"^- `{command}`: \S.* \(\[.*\]\(.*\)\)$", PAGE, re.MULTILINE)
    assert all(action.help for action in commands_page.parser(command)._actions)


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_has_a_meaning(code: ExitCode) -> None:
    """In the list of the page, as a sentence."""
    assert re.search(rf"^- {code.value}: \S.*\.$", PAGE, re.MULTILINE)
