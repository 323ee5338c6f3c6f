"""`krm-windows history`: what was open when, from the versions of a policy in Git."""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from krm_windows.cli import inputs, output, periods, policies, previews, times
from krm_windows.cli.arguments import output_format
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.history import pages, records
from krm_windows.history.account import Account, account, with_own
from krm_windows.history.revisions import Versions
from krm_windows.krm import InputError
from krm_windows.plurals import some
from krm_windows.system import git_history
from krm_windows.system.checkout import Checkout
from krm_windows.system.git_history import History

FORMATS = ("text", "json", "html")
# So many clusters are named where one is not known.
_NAMED = 10


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy",
        metavar="POLICY",
        nargs="?",
        help="the file of a WindowPolicy in the repository, which may have been deleted since, or "
        "the name of one that is there (default: what people did to all of them)",
    )
    periods.options(parser)
    periods.add_period(parser, default="90d")
    parser.add_argument(
        "--cluster", metavar="NAME", help="the cluster (default: the policy's buildFor)"
    )
    output_format(parser, FORMATS)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the account."""
    inputs.check_directory(arguments.repo)
    every = policies.around(arguments.repo) if arguments.policy is None else []
    every = [each for each in every if arguments.cluster in (None, *each.clusters)] or every
    files = {each.path: each.file for each in every}
    # A program expects one account.
    if arguments.output != "text" and len(files) > 1:
        raise UsageError(f"several policies are here: give one of {policies.listed(every)}")
    with git_history.opened(Path(arguments.repo), arguments.ref) as history:
        files = files or {_path(history, arguments.policy): arguments.policy}
        made = list(_accounts(history, files, arguments))
    if arguments.output == "json":
        output.show_json(records.account(made[0]))
    elif arguments.output == "html":
        output.show(pages.account(made[0]))
    else:
        several, width = len(files) > 1, periods.width()
        words = [pages.account_as_text(each, width, brief=several) for each in made]
        more = ["which hours were open: krm-windows history POLICY\n"] if several else []
        output.show_words("\n".join([*words, *more]))
    return ExitCode.of(failed=len(made) < len(files))


def _path(history: History, given: str) -> str:
    """Return the path of a file from the top of the repository, which may be given by name.

    What is not there is a path from the directory of the repository that was named.
    """
    if not (Path(given).is_file() or (history.directory / given).is_file()):
        every = policies.every(Checkout.at(history.top))
        called = [each.path for each in every if given in (each.config.name, each.title)]
        if len(called) == 1:
            return called[0]
        if called:
            listed = some(called, _NAMED)
            raise InputError(f"several policies are called {given}: give one of {listed}")
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
    history: History, files: Mapping[str, str], arguments: argparse.Namespace
) -> Iterator[Account]:
    """Yield the account of each file; of several it is only said of which there is none."""
    said: dict[str, None] = {}
    for path, file in files.items():
        arguments.policy = file
        try:
            yield _account(history, path, arguments, said.setdefault)
        except InputError as error:
            if len(files) == 1:
                raise
            said.setdefault(str(error))
    # Once what is true of all.
    for line in said:
        output.log(line)


def _account(
    history: History, path: str, arguments: argparse.Namespace, say: Callable[[str], object]
) -> Account:
    """Return the account that is asked for; raises InputError where there is none."""
    versions = Versions(history, path)
    cluster, known = arguments.cluster, versions.clusters()
    # A name that is mistyped would get the hours of the versions that name no clusters.
    if cluster is not None and cluster not in known:
        named = f"found: {some(known, _NAMED)}" if known else "nor any other: remove --cluster"
        raise InputError(f"{arguments.policy}: no version names the cluster {cluster!r}; {named}")
    found = list(versions.revisions(cluster))
    if not found:
        kept = " that this shallow clone has" if history.is_cut else ""
        raise InputError(f"{arguments.policy}: not found in any commit of {arguments.ref}{kept}")
    # A date is a day of the last version's clock; without one nobody knows which days are meant.
    zones = [each.timetable.zone for each in found if each.timetable is not None]
    made = None
    if zones:
        now = times.now()
        begins, ends = periods.period(arguments.start, arguments.until or now, zones[-1])
        begins = periods.known(history, begins, ends, say)
        # Whoever keeps it keeps what may still be changed.
        if ends > now:
            say(
                f"--until: the time after {now:%Y-%m-%d %H:%M}Z is in the future, and is shown by "
                "the latest version"
            )
        made = account(path, history.commits[0].name, found, begins, ends)
    if made is None:
        problems = list(chain.from_iterable(each.problems for each in found))
        why = f": {problems[-1]}" if problems else ""
        raise InputError(f"{arguments.policy}: no version of it was in force in this period{why}")
    last = versions.last()
    for note in previews.of_no_cluster(arguments.policy, last) if last and not cluster else ():
        say(note)
    # Who asks of no cluster asks of all.
    clusters = [] if made.last.cluster else versions.excepted()
    return with_own(made, {each: list(versions.revisions(each)) for each in clusters})
