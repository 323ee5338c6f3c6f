"""`krm-windows status`: what the targets of a policy are in a cluster, and what they should be."""

import argparse

from krm_windows.cli import cluster, output, policies, previews, report, sleeping, times, written
from krm_windows.cli.arguments import output_format, policy
from krm_windows.cli.cluster import ClusterState, PolicyInCluster
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.preview import stages
from krm_windows.results import fails
from krm_windows.status import records, text
from krm_windows.status.report import Report
from krm_windows.status.text import Where
from krm_windows.system.errors import WorkspaceError

_PAUSE = 5  # seconds between two times that the cluster is asked


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser)
    source = parser.add_mutually_exclusive_group()
    cluster.add_filename(source)
    source.add_argument(
        "--wait",
        action="store_true",
        help="wait until the cluster has these windows, and every target is as it should be",
    )
    parser.add_argument(
        "--timeout",
        type=times.length,
        metavar="10m",
        help="with --wait: exit 124 if it takes longer (default: no limit)",
    )
    cluster.options(parser)
    output_format(parser)
    previews.options(parser)


def run(arguments: argparse.Namespace, clock: Clock = sleeping.REAL) -> ExitCode:
    """Print the status; exit 1 if a target is not as it should be."""
    sleeping.check(arguments)
    policies.find(arguments)
    asked = PolicyInCluster.of(arguments)
    if arguments.wait:
        return _wait(asked, clock)
    answer = asked.judged()
    code = report.show(answer.results, strict=arguments.strict)
    if answer.report is None or code is not ExitCode.FINE:
        return code
    _show(answer.report, answer, arguments)
    return ExitCode.of(failed=not answer.report.as_desired)


def _wait(asked: PolicyInCluster, clock: Clock) -> ExitCode:
    """Ask until all is as it should be; on the way say what is missing, once."""
    timeout = asked.arguments.timeout
    deadline = None if timeout is None else clock.now() + timeout
    said: list[str] = []
    while True:
        try:
            answer = asked.judged()
            found = answer.report
            # A policy that is wrong is so at the next time, too: its file is not read again.
            if found is None or fails(answer.results, strict=asked.arguments.strict):
                return report.show(answer.results, strict=asked.arguments.strict)
            missing = list(text.missing(found))
        except (InputError, WorkspaceError) as error:
            found, missing = None, [str(error)]
        if found is not None and not missing:
            _show(found, answer, asked.arguments)
            return ExitCode.FINE
        is_late = deadline is not None and clock.now() >= deadline
        for line in missing:
            if is_late or line not in said:
                output.log(f"{'timed out' if is_late else 'waiting'}: {line}")
        if is_late:
            return ExitCode.TIMED_OUT
        said = missing
        clock.sleep(_PAUSE)


def _show(found: Report, answer: ClusterState, arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        output.show_json(records.status(found, answer.at, answer.asked))
        return
    cluster = f"in the cluster (as {arguments.filename} says)"
    if answer.asked is not None:
        cluster = stages.asked(answer.asked, found.timetable.zone)
    where = Where(written.stage(arguments.policy), cluster)
    width = output.width() if output.is_terminal() else 0
    output.show(text.render(found, answer.at, where, width))
