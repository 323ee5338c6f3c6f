"""`krm-windows simulate`: what a policy would have cost, from the commits of a repository."""

import argparse
from pathlib import Path
from posixpath import normpath

from krm_windows.cli import inputs, output, periods, previews
from krm_windows.cli.arguments import output_format
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.history import pages, records
from krm_windows.history.changes import changes
from krm_windows.history.simulation import Simulation, simulate
from krm_windows.preview.calendar import named
from krm_windows.preview.versions import Choice, Version
from krm_windows.system import git_history

# More than two columns of figures fit no terminal.
_POLICIES = 2


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policies",
        metavar="POLICY",
        nargs="+",
        help="the file of a WindowPolicy; with a second one, both are compared",
    )
    periods.options(parser)
    periods.add_period(parser, default="1y")
    parser.add_argument(
        "--paths",
        # `./apps` is what a shell makes of it.
        type=normpath,
        action="append",
        default=[],
        metavar="GLOB",
        help="only commits that change such a path or anything below it (repeatable; default: "
        "every commit)",
    )
    output_format(parser)
    previews.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print what would have waited."""
    if len(arguments.policies) > _POLICIES:
        raise UsageError(f"give one policy, or two to compare; got {len(arguments.policies)}")
    inputs.check_directory(arguments.repo)
    choice = Choice(arguments.cluster)
    versions, code = previews.load(arguments.policies, choice, arguments)
    if versions:
        every = _simulations(versions, arguments)
        _show(every, arguments)
    return code


def _simulations(
    versions: list[Version],
    arguments: argparse.Namespace,
) -> list[Simulation]:
    # Of two policies both are about the same time, by the clock of the first.
    zone = versions[0].timetable.zone
    begins, ends = periods.period(arguments.start, arguments.until, zone)
    with git_history.opened(Path(arguments.repo), arguments.ref) as history:
        begins = periods.known(history, begins, ends)
        # Read once, and replayed against each policy.
        found = list(changes(history, begins, ends, arguments.paths))
    # Zeros would look like an answer where a name is mistyped.
    if arguments.paths and not found:
        output.log("--paths: no commit in this period changes such a path")
    names = [named(version.timetable) for version in versions]
    # Alike if the second one is a draft of the first: then they are told by their files.
    if len(set(names)) < len(names):
        names = arguments.policies
    return [
        simulate(version.timetable, found, begins, ends, name)
        for version, name in zip(versions, names, strict=True)
    ]


def _show(every: list[Simulation], arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        found = [records.simulation(one) for one in every]
        # One object for one policy is easier to read by `jq` than a list of one.
        output.show_json(found if len(found) > 1 else found[0])
    else:
        output.show_words(pages.simulation_as_text(every, periods.width()))
