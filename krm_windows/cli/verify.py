"""`krm-windows verify`: prove on what a build printed that the windows are in it, and in order."""

import argparse

from krm_windows.cli import inputs, places, report
from krm_windows.exit_codes import ExitCode
from krm_windows.function import placed, window_policy


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("rendered", metavar="RENDERED", help="a build's output: a file, a directory, or - for a stream")
    parser.add_argument("--policy", required=True, metavar="POLICY", help="the file of the WindowPolicy")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster it was built for (default: buildFor)")
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Report what is wrong with the output."""
    config, items = inputs.policy(arguments.policy), inputs.resources(arguments.rendered)
    results = window_policy.verify(config, items, arguments.cluster)
    if arguments.policy != inputs.STDIN:
        results = places.placed([*results, *placed.check(config, arguments.policy)], {arguments.policy: config})
    return report.show(results, strict=arguments.strict)
