"""`krm-windows state`: whether a policy is open, by which rule, since when and until when."""

import argparse

from krm_windows import escape
from krm_windows.cli import output, previews, times, written
from krm_windows.cli.arguments import output_format
from krm_windows.exit_codes import ExitCode
from krm_windows.preview import records, sentences, stages
from krm_windows.preview.versions import Choice
from krm_windows.schedule import wallclock
from krm_windows.schedule.timeline import decide


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policy", metavar="POLICY", help="the file of the WindowPolicy, or - for standard input"
    )
    parser.add_argument(
        "--at",
        type=times.moment,
        metavar="TIME",
        help="the time to decide for, in the policy's time zone or with an offset (default: now)",
    )
    output_format(parser)
    parser.add_argument("--exit-code", action="store_true", help="exit 0 if open, 10 if closed")
    previews.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print what should hold, decided as the gate decides it once it has the policy."""
    versions, code = previews.load([arguments.policy], Choice(arguments.cluster), arguments)
    if not versions:
        return code
    timetable = versions[0].timetable
    at = times.now()
    if arguments.at is not None:
        at = wallclock.utc(arguments.at, timetable.zone)
    decision = decide(timetable, at)
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
        for line in stages.rendered(rendered):
            output.show_words(f"{escape.line(line)}\n")
        output.show_words(f"{stages.NOT_ASKED} (krm-windows status asks it)\n")
    # `if krm-windows state --exit-code policy.yaml; then …` in a pipeline.
    if arguments.exit_code and not decision.open:
        return ExitCode.CLOSED
    return ExitCode.FINE
