"""`krm-windows status`: what the targets of a policy are in a cluster, and what they should be."""

import argparse
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import sleep
from typing import TYPE_CHECKING

from krm_windows.cli import cluster, output, previews, report
from krm_windows.cli.arguments import output_format
from krm_windows.cli.cluster import Asked, ClusterState
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.status import records, text
from krm_windows.status.report import Report
from krm_windows.system.errors import WorkspaceError

if TYPE_CHECKING:
    from krm_windows.pending.report import Pending

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


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the status; exit 1 if a target is not as it should be."""
    asked = Asked.of(arguments)
    answer = asked.judged()
    code = report.show(answer.results, strict=arguments.strict)
    found = _found(asked, answer)
    if found is None or code is not ExitCode.FINE:
        return code
    _show(found, answer.at, arguments)
    if arguments.watch:
        _watch(asked, found)
    return ExitCode.of(failed=not found.report.as_desired)


def _found(asked: Asked, answer: ClusterState) -> _Shown | None:
    """Return what is to be printed, None where the policy is wrong."""
    if answer.report is None:
        return None
    if not asked.arguments.pending:
        return _Shown(answer.report, None)
    from krm_windows.pending import report as waiting  # noqa: PLC0415 - only `--pending` needs it

    lookups = waiting.Lookups(asked.more)
    return _Shown(answer.report, waiting.report(answer.report, answer.objects, lookups))


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
            _show(shown, answer.at, asked.arguments)


def _show(
    found: _Shown,
    at: datetime,
    arguments: argparse.Namespace,
) -> None:
    if arguments.output == "json":
        output.show_json(records.status(found.report, at) | _pending_record(found.pending))
    elif output.is_terminal():
        # Takes long to import, and only a terminal needs it.
        from krm_windows.status import color  # noqa: PLC0415

        width = output.width()
        alarming = [each for _, each in text.lines(found.report, at, width)]
        page = text.render(found.report, at, width)
        output.show_painted(page, partial(color.paint, alarming=alarming))
        output.show(_pending_text(found.pending))
    else:
        output.show(text.render(found.report, at) + _pending_text(found.pending))


def _pending_text(pending: "Pending | None") -> str:
    """Return what waits, nothing unless it is asked for."""
    if pending is None:
        return ""
    from krm_windows.pending import text as waiting  # noqa: PLC0415 - only `--pending` needs it

    return waiting.entries(pending)


def _pending_record(pending: "Pending | None") -> dict[str, object]:
    """Return what waits for JSON, nothing unless it is asked for."""
    if pending is None:
        return {}
    from krm_windows.pending import records as waiting  # noqa: PLC0415 - likewise

    return {"pending": waiting.targets(pending)}
