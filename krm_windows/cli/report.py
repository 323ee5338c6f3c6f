"""What a command found, for a person.

Results on standard error, stale files as a diff, and the exit code they mean.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence

from krm_windows.cli import locations, output
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import KubeObject
from krm_windows.plurals import counted
from krm_windows.results import Result, fails, sort, tally
from krm_windows.schedule import zones
from krm_windows.system.files import Folder


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that reports results."""
    # Without a default of its own, one that is given before the command is not lost.
    parser.add_argument(
        "--strict", action="store_true", default=argparse.SUPPRESS, help="exit 1 on warnings too"
    )
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="report only what makes the command fail, and no progress",
    )


def located(
    results: Iterable[Result],
    policies: Mapping[str, KubeObject],
    resources: str | None = None,
) -> list[Result]:
    """Return results with their place, as `locations.located` does."""
    every = list(results)
    if not every:
        return []

    return locations.located(every, policies, resources)


def show(results: Sequence[Result], *, strict: bool) -> ExitCode:
    """Print results in their order and return what they mean."""
    # Sorted, so that the output of two runs can be compared.
    output.log_results(shown(sort(results), strict=strict))
    return ExitCode.of(failed=fails(results, strict=strict))


def shown(results: Sequence[Result], *, strict: bool) -> Sequence[Result]:
    """Return what is printed of results: with `--quiet` what fails the command alone."""
    if not output.is_quiet():
        return results
    return [result for result in results if fails([result], strict=strict)]


def summarize(results: Sequence[Result], *done: str) -> None:
    """Say on standard error in one line what was found, where anything was, and what was done."""
    if output.is_quiet():
        return
    found: list[str] = []
    if results or not done:
        found.append(tally(sort(results)))
    output.log(", ".join([*found, *done]))


def zone_rules() -> str:
    """Return by which release of the zone data something is built."""
    return f"zone rules {zones.release()}"


def changes(written: int, removed: int = 0) -> Iterator[str]:
    """Yield what became of files."""
    if written:
        yield f"{counted(written, 'file')} written"
    if removed:
        yield f"{counted(removed, 'file')} removed"
    if not written and not removed:
        yield "no file changed"


def stale(files: int, more: str = "") -> Iterator[str]:
    """Yield how many files are not what would be written, and what to do, `more` beside that."""
    if files:
        it = "it" if files == 1 else "them"
        todo = f"the same command without --check writes {it}{more}"
        yield f"{counted(files, 'file')} out of date ({todo})"
    else:
        yield "all files up to date"


def compare(folder: Folder, files: Mapping[str, bytes]) -> ExitCode:
    """Print how the files of a directory differ from those that it should have."""
    # As `diff` and `git diff --exit-code` do it: output and exit 1 where there is a difference.
    diffs = folder.stale(files)
    output.show("".join(diffs.values()))
    summarize((), *stale(len(diffs)))
    return ExitCode.of(failed=bool(diffs))
