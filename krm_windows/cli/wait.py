"""`krm-windows wait`: a pipeline that goes on when a policy opens, or closes."""

import argparse
from datetime import timedelta

from krm_windows.cli import output, previews, sleeping, times
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.preview import sentences
from krm_windows.preview.versions import Choice
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy", metavar="POLICY", help="the file of the WindowPolicy, or - for standard input"
    )
    parser.add_argument(
        "--until", choices=("open", "closed"), required=True, help="what to wait for"
    )
    parser.add_argument(
        "--timeout",
        type=times.length,
        metavar="2h",
        help="exit 124 if it takes longer (default: no limit)",
    )
    previews.options(parser)


def run(arguments: argparse.Namespace, clock: Clock = sleeping.REAL) -> ExitCode:
    """Wait, with a line when it begins and one when it ends."""
    versions, code = previews.load([arguments.policy], Choice(arguments.cluster), arguments)
    if not versions:
        return code
    return wait(
        versions[0].timetable,
        clock,
        until_open=arguments.until == "open",
        timeout=arguments.timeout,
    )


def wait(
    timetable: Timetable,
    clock: Clock,
    *,
    until_open: bool,
    timeout: timedelta | None,
) -> ExitCode:
    """Sleep from edge to edge until a timetable is open, or closed.

    Raises InputError where that is more than 400 days away and nothing ends the wait.
    """
    began = clock.now()
    deadline = None if timeout is None else began + timeout
    decision = decide(timetable, began)
    if decision.open is not until_open:
        # The policy is not read again, so what it does not say now it will not say later.
        if decision.until is None and deadline is None:
            raise InputError(
                f"{timetable.policy} does not change for more than 400 days "
                f"({decision.reason}): use --timeout to wait anyway"
            )
        output.show_words(sentences.waiting(timetable, decision, deadline))
    while decision.open is not until_open:
        if deadline is not None and clock.now() >= deadline:
            output.log(sentences.timed_out(timetable, decision))
            return ExitCode.TIMED_OUT
        # The clock is asked after each sleep: the machine may have slept, or its clock been set.
        clock.sleep_towards(decision.until, deadline)
        decision = decide(timetable, clock.now())
    output.show_words(sentences.brief(timetable, decision))
    return ExitCode.FINE
