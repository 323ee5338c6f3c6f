"""`krm-windows explain`: a policy in plain words."""

import argparse

from krm_windows.cli import output, policies, previews
from krm_windows.cli.arguments import policy
from krm_windows.exit_codes import ExitCode
from krm_windows.preview import explanation
from krm_windows.preview.versions import Choice


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser)
    previews.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the explanation."""
    policies.find(arguments)
    versions, code = previews.load([arguments.policy], Choice(arguments.cluster), arguments)
    for version in versions:
        output.show_words(explanation.render(version.policy, version.timetable))
    return code
