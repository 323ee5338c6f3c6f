"""Results for a person: on standard error, one line each, and the exit code that they mean."""

import argparse
import sys
from collections.abc import Sequence

from krm_windows.exit_codes import ExitCode
from krm_windows.results import Result, fails, sort


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that reports results."""
    # Without a default of its own, one that stands before the command is not lost.
    parser.add_argument("--strict", action="store_true", default=argparse.SUPPRESS, help="exit 1 on warnings too")


def show(results: Sequence[Result], *, strict: bool) -> ExitCode:
    """Print results in their order and return what they mean."""
    for result in sort(results):
        print(result, file=sys.stderr)
    return ExitCode.ERROR if fails(results, strict=strict) else ExitCode.FINE
