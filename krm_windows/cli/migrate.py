"""`krm-windows migrate`: from CronJobs that suspend and resume, written by hand, to policies."""

import argparse
from datetime import timedelta
from pathlib import Path

from krm_windows.cli import builds, destinations, inputs, output, times
from krm_windows.cli import report as results
from krm_windows.exit_codes import ExitCode
from krm_windows.flux.builds import Builds
from krm_windows.migrate import migrate, text
from krm_windows.plan.clocks import Today
from krm_windows.plurals import counted
from krm_windows.results import fails
from krm_windows.system.checkout import Checkout
from krm_windows.system.directories import create

# Long enough for every CronJob of a month to have had its turn.
_TAKEOVER = timedelta(days=30)


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "directory", type=Path, metavar="DIR", help="the repository, which is not changed"
    )
    parser.add_argument(
        destinations.OPTION,
        type=destinations.directory,
        required=True,
        metavar="OUT",
        help="the directory to create, which must not exist",
    )
    parser.add_argument(
        "--adopt-until",
        type=times.any_day,
        metavar="DATE",
        help=(
            "until then suspensions by the old CronJobs count as the policy's own (default: in "
            f"{_TAKEOVER.days} days)"
        ),
    )
    parser.add_argument(
        "--clusters",
        metavar="GLOB",
        help="the directories of the clusters (default: search for them)",
    )
    builds.add_source_option(parser)
    builds.add_build_options(parser)
    results.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write the policies and print what was found."""
    inputs.check_directory(arguments.directory)
    # After that day what is still suspended counts as held by hand.
    until = arguments.adopt_until or Today(times.now() + _TAKEOVER)
    tree = Checkout.at(arguments.directory)
    # Which of the sources in the cluster is this repository.
    hints = builds.hints(tree, arguments.source, arguments.directory)
    builder = builds.builder(Path(tree.root), arguments)
    made = Builds(tree, builder, arguments.jobs)
    found = migrate(made, until, arguments.clusters, hints)
    # Where nothing was found no empty directory is made, which would look like a success.
    if found.files:
        create(arguments.output_dir, found.files)
    output.show_words(text(found))
    made_of = [counted(len(found.policies), "policy"), *results.changes(len(found.files))]
    results.summarize(found.results, *made_of)
    # To find nothing at all is a failure of what was asked for.
    failed = fails(found.results, strict=arguments.strict) or not found.policies
    return ExitCode.of(failed=failed)
