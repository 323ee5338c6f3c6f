"""`krm-windows history`: what was open when, from the versions of a policy in Git."""

import argparse
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path

from krm_windows.cli import inputs, output, periods, times
from krm_windows.cli.arguments import output_format
from krm_windows.exit_codes import ExitCode
from krm_windows.history import pages, records
from krm_windows.history.account import Account, account
from krm_windows.history.revisions import Revision, Versions
from krm_windows.krm import InputError
from krm_windows.plurals import some
from krm_windows.system import git_history
from krm_windows.system.git_history import History

FORMATS = ("text", "json", "html")
# So many clusters are named where one is not known.
_NAMED = 10


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy",
        metavar="POLICY",
        help="the file of a WindowPolicy in the repository, which may have been deleted since",
    )
    periods.options(parser)
    periods.add_period(parser, default="90d")
    clusters = parser.add_mutually_exclusive_group()
    clusters.add_argument(
        "--cluster", metavar="NAME", help="the cluster (default: the policy's buildFor)"
    )
    clusters.add_argument(
        "--all-clusters",
        action="store_true",
        help="every cluster that a version in this period names",
    )
    output_format(parser, FORMATS)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the account."""
    inputs.check_directory(arguments.repo)
    directory = Path(arguments.repo)
    with git_history.opened(directory, arguments.ref) as history:
        path = _path(history, arguments.policy)
        # While Git is open: it reads from a directory that is gone behind this block.
        versions = Versions(history, path)
        every = list(_accounts(history, path, versions, arguments))
    _show(every, arguments)
    return ExitCode.FINE


def _path(history: History, given: str) -> str:
    """Return the path of a file from the top of the repository.

    What is not there is a path from the directory of the repository that was named.
    """
    # `..` and `windows/` are directories wherever they are.
    if not given or Path(given).is_dir() or given.endswith(("/", "..")):
        raise InputError(f"{given!r}: is not the path of a file")
    # As it is named from here, unless that is a file of somewhere else.
    places = [Path(given)] if Path(given).exists() else []
    for place in (*places, history.directory / given):
        # Only the folders: a link in the repository is a file of its own for Git.
        real = Path(os.path.realpath(place.parent), place.name)
        if real.is_relative_to(history.top):
            return real.relative_to(history.top).as_posix()
    raise InputError(f"{given}: is outside the repository {history.top}")


def _accounts(
    history: History,
    path: str,
    versions: Versions,
    arguments: argparse.Namespace,
) -> Iterator[Account]:
    """Yield the account of each cluster that is asked for; raises InputError where none has one."""
    clusters = _clusters(versions, arguments)
    # Read once, so that all of them end at the same time.
    now = times.now()
    nothing = True
    found: list[Revision] = []
    for cluster in clusters:
        found = list(versions.revisions(cluster))
        if not found:
            known = " that this shallow clone has" if history.is_cut else ""
            raise InputError(
                f"{arguments.policy}: not found in any commit of {arguments.ref}{known}"
            )
        period = _period(found, arguments, now)
        if period is None:
            continue
        begins, ends = period
        begins = periods.known(history, begins, ends, quiet=not nothing)
        # Whoever keeps it keeps what may still be changed.
        if nothing and ends > now:
            output.log(
                f"--until: the time after {now:%Y-%m-%d %H:%M}Z is in the future, and is shown by "
                "the latest version"
            )
        made = account(path, history.commits[0].name, found, begins, ends)
        # One that was taken out, or came, at another time.
        if made is not None:
            nothing = False
            yield made
    if nothing:
        problems = list(chain.from_iterable(each.problems for each in found))
        why = f": {problems[-1]}" if problems else ""
        raise InputError(f"{arguments.policy}: no version of it was in force in this period{why}")


def _clusters(versions: Versions, arguments: argparse.Namespace) -> Sequence[str | None]:
    """Return the clusters that are asked for; raises InputError for one that no version names."""
    known = versions.clusters()
    if arguments.all_clusters:
        # A policy that names no clusters is the same for each.
        return known or [None]
    # A name that is mistyped would get the hours of the versions that name no clusters.
    if arguments.cluster is not None and arguments.cluster not in known:
        found = f"found: {some(known, _NAMED)}" if known else "nor any other: remove --cluster"
        raise InputError(
            f"{arguments.policy}: no version names the cluster {arguments.cluster!r}; {found}"
        )
    return [arguments.cluster]


def _period(
    found: Sequence[Revision],
    arguments: argparse.Namespace,
    now: datetime,
) -> tuple[datetime, datetime] | None:
    """Return the period that is asked for; None where no version has a zone to read it in."""
    # Without one nobody knows which days are meant.
    zones = [each.timetable.zone for each in found if each.timetable is not None]
    if not zones:
        return None
    # A date is a day of the last version's clock, which the report is in.
    return periods.period(arguments.start, arguments.until or now, zones[-1])


def _show(every: Sequence[Account], arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        found = [records.account(made) for made in every]
        # One object for one cluster is easier to read by `jq` than a list of one.
        output.show_json(found if arguments.all_clusters else found[0])
    elif arguments.output == "html":
        output.show(pages.account(every))
    else:
        width = periods.width()
        output.show_words("\n".join(pages.account_as_text(made, width) for made in every))
