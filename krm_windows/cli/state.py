"""`krm-windows state`: whether a policy is open, by which rule, since when and until when."""

import argparse
from datetime import timedelta

from krm_windows.cli import output, policies, previews, sleeping, times, written
from krm_windows.cli.arguments import output_format, policy
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.gate.timetable import Decision
from krm_windows.krm import InputError
from krm_windows.preview import records, sentences, stages
from krm_windows.preview.versions import Choice
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser)
    parser.add_argument(
        "--at",
        type=times.moment,
        metavar="TIME",
        help="the time to decide for, in the policy's time zone or with an offset (default: now)",
    )
    parser.add_argument("--wait", choices=("open", "closed"), help="first wait until it is that")
    parser.add_argument(
        "--timeout",
        type=times.length,
        metavar="2h",
        help="with --wait: exit 124 if it takes longer (default: no limit)",
    )
    output_format(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit 0 if open, 10 if closed")
    previews.options(parser)


def run(arguments: argparse.Namespace, clock: Clock = sleeping.REAL) -> ExitCode:
    """Print what should hold, decided as the gate decides it once it has the policy."""
    sleeping.check(arguments)
    policies.find(arguments)
    versions, code = previews.load([arguments.policy], Choice(arguments.cluster), arguments)
    if not versions:
        return code
    timetable = versions[0].timetable
    decision = decide(timetable, times.instant(arguments.at, timetable.zone, clock.now()))
    if arguments.wait:
        awaited = arguments.wait == "open"
        decision = wait(timetable, clock, until_open=awaited, timeout=arguments.timeout)
        if decision.open is not awaited:
            output.log(f"timed out: {sentences.waiting(timetable, decision)}")
            return ExitCode.TIMED_OUT
    rendered = written.rendered(arguments.policy)
    if arguments.output == "json":
        output.show_json(
            {
                **records.state(decision, timetable.zone),
                "inGit": written.in_git(arguments.policy),
                "rendered": stages.records(rendered),
                # No cluster was asked.
                "inCluster": None,
            }
        )
    else:
        output.show_words(sentences.state(timetable, decision, written.stage(arguments.policy)))
        asking = f"{stages.NOT_ASKED} (krm-windows status asks it)"
        output.show_lines([*stages.rendered(rendered), asking])
    # `if krm-windows state --exit-code policy.yaml; then …` in a pipeline.
    if arguments.exit_code and not decision.open:
        return ExitCode.CLOSED
    return ExitCode.FINE


def wait(
    timetable: Timetable, clock: Clock, *, until_open: bool, timeout: timedelta | None
) -> Decision:
    """Sleep from edge to edge until a timetable is open, or closed, or the time is up.

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
        awaited = "open" if until_open else "closed"
        held = sentences.waiting(timetable, decision)
        output.log(f"waiting until it should be {awaited}: {held}")
    while decision.open is not until_open and (deadline is None or clock.now() < deadline):
        # The clock is asked after each sleep: the machine may have slept, or its clock been set.
        clock.sleep_towards(decision.until, deadline)
        decision = decide(timetable, clock.now())
    return decision
