"""What a command found, for a person.

Results on standard error, stale files as a diff, and the exit code they mean.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode
from krm_windows.results import Result, fails, sort

if TYPE_CHECKING:
    from krm_windows.system.files import Folder


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that reports results."""
    # Without a default of its own, one that is given before the command is not lost.
    parser.add_argument(
        "--strict", action="store_true", default=argparse.SUPPRESS, help="exit 1 on warnings too"
    )


def show(results: Sequence[Result], *, strict: bool) -> ExitCode:
    """Print results in their order and return what they mean."""
    # Sorted, so that the output of two runs can be compared.
    output.log_results(sort(results))
    return ExitCode.of(failed=fails(results, strict=strict))


def log_zone_rules() -> None:
    """Say on standard error by which release of the zone data something was built."""
    from krm_windows.schedule import zones  # noqa: PLC0415 - few commands say it

    output.log(f"zone rules {zones.release()}")


def compare(folder: "Folder", files: Mapping[str, bytes]) -> ExitCode:
    """Print how the files of a directory differ from those that it should have.

    Say whether they are stale.
    """
    # As `diff` and `git diff --exit-code` do it: output and exit 1 where there is a difference.
    diff = "".join(folder.stale(files))
    output.show(diff)
    return ExitCode.of(failed=bool(diff))
