"""`krm-windows version`: which program this is, to be said in a report of a defect."""

import argparse
import platform

from krm_windows import COMMIT, __version__
from krm_windows.cli import output
from krm_windows.cli.arguments import output_format
from krm_windows.exit_codes import ExitCode
from krm_windows.schedule import zones

# As `git archive` finds it, and every file that came another way still has it (gitattributes(5)).
_NOT_ARCHIVED = "$Format:"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    output_format(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the versions."""
    said = {
        "version": __version__,
        "commit": commit(),
        "zoneRules": zones.release(),
        "python": platform.python_version(),
    }
    if arguments.output == "json":
        output.show_json(said)
        return ExitCode.FINE
    built_from = said["commit"] or "unknown, because it was not built from a commit"
    output.show(
        f"krm-windows {__version__}\n"
        f"commit      {built_from}\n"
        f"zone rules  {said['zoneRules']}\n"
        f"Python      {said['python']}\n"
    )
    return ExitCode.FINE


def commit() -> str | None:
    """Return the hash of the commit that this was built from; None in a work tree."""
    return None if COMMIT.startswith(_NOT_ARCHIVED) else COMMIT
