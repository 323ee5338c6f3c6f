"""`krm-windows status`: what the targets of a policy are in a cluster, and what they should be."""

import argparse
from dataclasses import dataclass
from functools import partial
from time import sleep

from krm_windows.cli import cluster, output, previews, report, sleeping, times, written
from krm_windows.cli.arguments import output_format
from krm_windows.cli.cluster import Asked, ClusterState
from krm_windows.cli.inputs import UsageError
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.pending import records as pending_records
from krm_windows.pending import report as pending_report
from krm_windows.pending import text as pending_text
from krm_windows.pending.report import Pending
from krm_windows.preview import stages
from krm_windows.results import fails
from krm_windows.status import color, records, text
from krm_windows.status.report import Report
from krm_windows.status.text import Where
from krm_windows.system.errors import WorkspaceError

_PAUSE = 5  # seconds between two times that the cluster is asked


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy", metavar="POLICY", help="the file of the WindowPolicy, or - for standard input"
    )
    source = parser.add_mutually_exclusive_group()
    cluster.add_filename(source)
    source.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help=("keep watching, and print again when something changes"),
    )
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
    parser.add_argument(
        "--pending", action="store_true", help="also show what waits for each target"
    )
    output_format(parser)
    previews.options(parser)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is printed: the state of the targets, and what waits for them if that is asked for."""

    report: Report
    pending: "Pending | None"


def run(arguments: argparse.Namespace, clock: Clock = sleeping.REAL) -> ExitCode:
    """Print the status; exit 1 if a target is not as it should be."""
    _check(arguments)
    asked = Asked.of(arguments)
    if arguments.wait:
        return _wait(asked, clock)
    answer = asked.judged()
    code = report.show(answer.results, strict=arguments.strict)
    found = _found(asked, answer)
    if found is None or code is not ExitCode.FINE:
        return code
    _show(found, answer, arguments)
    if arguments.watch:
        _watch(asked, found)
    return ExitCode.of(failed=not found.report.as_desired)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.timeout is not None and not arguments.wait:
        raise UsageError("--timeout needs --wait")
    # At another instant than now nothing comes about.
    if arguments.wait and arguments.at is not None:
        raise UsageError("--wait waits for what holds now, so it cannot be used with --at")


def _wait(asked: Asked, clock: Clock) -> ExitCode:
    """Ask until all is as it should be; on the way say what is missing, once."""
    timeout = asked.arguments.timeout
    deadline = None if timeout is None else clock.now() + timeout
    said: list[str] = []
    while True:
        try:
            answer = asked.judged()
            found = _found(asked, answer)
            # A policy that is wrong is so at the next time, too: its file is not read again.
            if found is None or fails(answer.results, strict=asked.arguments.strict):
                return report.show(answer.results, strict=asked.arguments.strict)
            missing = list(text.missing(found.report))
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


def _found(asked: Asked, answer: ClusterState) -> _Shown | None:
    """Return what is to be printed, None where the policy is wrong."""
    if answer.report is None:
        return None
    if not asked.arguments.pending:
        return _Shown(answer.report, None)

    lookups = pending_report.Lookups(asked.more)
    return _Shown(answer.report, pending_report.report(answer.report, answer.objects, lookups))


def _watch(asked: Asked, shown: _Shown) -> None:
    """Ask again and again, until somebody interrupts; what fails once may work the next time."""
    while True:
        sleep(_PAUSE)
        # The policy's file is not read again: what is watched is the cluster.
        try:
            answer = asked.judged()
            found = _found(asked, answer)
        except (InputError, WorkspaceError) as error:
            output.log(str(error))
            continue
        if found is None:
            report.show(answer.results, strict=asked.arguments.strict)
        # Equal reports are not printed again; the time alone is no change.
        elif found != shown:
            shown = found
            _show(shown, answer, asked.arguments)


def _show(
    found: _Shown,
    answer: ClusterState,
    arguments: argparse.Namespace,
) -> None:
    at = answer.at
    where = _where(found.report, answer, arguments)
    if arguments.output == "json":
        output.show_json(
            records.status(found.report, at, answer.asked) | _pending_record(found.pending)
        )
    elif output.is_terminal():
        width = output.width()
        alarming = [each for _, each in text.lines(found.report, at, where, width)]
        page = text.render(found.report, at, where, width)
        output.show_painted(page, partial(color.paint, alarming=alarming))
        output.show(_pending_text(found.pending))
    else:
        output.show(text.render(found.report, at, where) + _pending_text(found.pending))


def _where(found: Report, answer: ClusterState, arguments: argparse.Namespace) -> Where:
    """Return what the state of the policy and that of the cluster are known from."""
    cluster = stages.asked(answer.asked, found.timetable.zone)
    if answer.asked is None:
        cluster = f"in the cluster (as {arguments.filename} says)"
    return Where(written.stage(arguments.policy), cluster)


def _pending_text(pending: Pending | None) -> str:
    """Return what waits, nothing unless it is asked for."""
    if pending is None:
        return ""

    return pending_text.entries(pending)


def _pending_record(pending: Pending | None) -> dict[str, object]:
    """Return what waits for JSON, nothing unless it is asked for."""
    if pending is None:
        return {}

    return {"pending": pending_records.targets(pending)}
