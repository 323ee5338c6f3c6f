"""What a command found, for a person.

Results on standard error, stale files as a diff, and the exit code they mean.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from krm_windows.checks.report import place
from krm_windows.cli import inputs, output
from krm_windows.exit_codes import ExitCode
from krm_windows.inventory import ref_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted
from krm_windows.results import File, ResourceRef, Result, fails, sort, tally
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
    """Return results about one of the policies, by file, or about the resources, with their place.

    `resources` is what was given to read them from. What came from a stream has no place.
    """
    known = {_key(ref_of(config)): (file, config) for file, config in policies.items()}
    # Objects of a stream may name any file (an annotation); none of those is opened.
    are_files = resources not in (None, inputs.STDIN)

    @cache
    def objects(path: str) -> Sequence[KubeObject]:
        # Read again: of the objects that were looked at the text may have been changed.
        with suppress(InputError):
            return inputs.objects(path) if Path(path).is_file() else ()
        return ()

    def placed(result: Result) -> Result:
        if result.line is not None:
            return result
        path, config = known.get(_key(result.resource_ref), (inputs.STDIN, None))
        if config is not None and path != inputs.STDIN:
            return result._replace(file=File(path=path)).at(place(config, result.path))
        file = result.file
        if file is None or not are_files or file.document >= len(objects(file.path)):
            return result
        return result.at(place(objects(file.path)[file.document], result.path))

    return list(map(placed, results))


def _key(ref: ResourceRef | None) -> tuple[str, ...]:
    """Return what an object is known by: its version may be missing, or be mistyped."""
    return () if ref is None else (ref.kind, ref.namespace, ref.name)


def show(results: Sequence[Result], *, strict: bool) -> ExitCode:
    """Print results in their order and return what they mean."""
    # Sorted, so that the output of two runs can be compared.
    output.log_list(shown(sort(results), strict=strict))
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
