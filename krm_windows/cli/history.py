"""`krm-windows history`: what was open when, from the versions of a policy in Git."""

import argparse
import os
from pathlib import Path

from krm_windows.cli import output, past
from krm_windows.exit_codes import ExitCode
from krm_windows.history import account_records, account_text
from krm_windows.history.account import Account, account
from krm_windows.history.revisions import Reader, Revision, State, revisions
from krm_windows.krm import InputError
from krm_windows.system import git_history
from krm_windows.system.git_history import History

FORMATS = ("text", "json", "html", "in-toto")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy",
        metavar="POLICY",
        help="the file of a WindowPolicy in the repository, also one that is there no more",
    )
    past.options(parser)
    past.add_period(parser, "--from", default="90d")
    parser.add_argument(
        "--cluster", metavar="NAME", help="the cluster (default: the policy's buildFor)"
    )
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="text", help="the form (default: text)"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the account."""
    directory = Path(arguments.repo)
    reader = Reader(arguments.cluster)
    with git_history.opened(directory, arguments.ref) as history:
        path = _path(history, arguments.policy)
        # While Git is open: it reads from a directory that is gone behind this block.
        found = list(revisions(history, path, reader))
        if not found:
            raise InputError(f"{arguments.policy}: no commit of {arguments.ref} has it")
        made = _account(history, path, found, arguments)
    if made is None:
        raise InputError(_nothing(found, arguments))
    _show(made, arguments)
    return ExitCode.FINE


def _path(history: History, given: str) -> str:
    """Return the path of a file from the top of the repository.

    What is not there is a path from the directory of the repository that was named.
    """
    # As it is named from here, unless that is a file of somewhere else.
    if Path(given).exists():
        path = _below(history, Path(given))
        if path is not None:
            return path
    path = _below(history, history.directory / given)
    if path is None:
        raise InputError(f"{given}: lies outside of the repository {history.top}")
    return path


def _below(history: History, place: Path) -> str | None:
    # Only the folders: a link in the repository is a file of its own for Git.
    real = Path(os.path.realpath(place.parent), place.name)
    if "\n" in place.name or not real.is_relative_to(history.top):
        return None
    return real.relative_to(history.top).as_posix()


def _account(
    history: History,
    path: str,
    found: list[Revision],
    arguments: argparse.Namespace,
) -> Account | None:
    # Without one nobody knows which days are meant.
    zones = [each.timetable.zone for each in found if each.timetable is not None]
    if not zones:
        return None
    # A date is a day of the last version's clock, which the report is in.
    begins, ends = past.period(arguments.start, arguments.until, zones[-1])
    past.warn_where_cut(history, int(begins.timestamp()))
    return account(path, history.commits[0].name, found, begins, ends)


def _nothing(found: list[Revision], arguments: argparse.Namespace) -> str:
    """Say why there is nothing to account for."""
    policy = arguments.policy
    # From the most to the least that could be read.
    if any(each.timetable is not None for each in found):
        return f"{policy}: no version of it was in force in this time"
    if any(each.state is State.ELSEWHERE for each in found):
        return f"{policy}: no version names the cluster {arguments.cluster}"
    problems: list[str] = []
    for each in found:
        problems += each.problems
    return f"{policy}: no version of it can be read: {problems[-1]}"


def _show(made: Account, arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        output.show_json(account_records.account(made))
    elif arguments.output == "in-toto":
        output.show_json(account_records.statement(made))
    elif arguments.output == "html":
        # Takes longer to import than text needs.
        from krm_windows.history import account_page  # noqa: PLC0415

        output.show(account_page.render(made))
    else:
        output.show(account_text.render(made, past.width()))
