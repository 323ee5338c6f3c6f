"""`krm-windows diff`: which hours open and which close through a change of a policy."""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from krm_windows.cli import forges, inputs, output, previews, report, times
from krm_windows.cli.arguments import output_format
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.preview import changes, records
from krm_windows.preview.difference import Difference, compare
from krm_windows.preview.successions import successions
from krm_windows.preview.versions import PolicySource
from krm_windows.results import Result, sort


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "old", metavar="OLD", help="the file of the old WindowPolicy, or - for standard input"
    )
    parser.add_argument("new", metavar="NEW", help="the file of the new WindowPolicy")
    times.options(parser, days=28)
    output_format(parser, ("text", "json", "markdown"))
    previews.options(parser, cluster="default: every cluster that either policy names")
    comment = parser.add_argument_group("post as a comment, edited when the command runs again")
    comment.add_argument(
        "--comment",
        type=partial(times.count, what="pull requests"),
        metavar="NUMBER",
        help="also post it on this pull request or merge request",
    )
    forges.options(comment)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the difference, and what the change has forgotten."""
    if arguments.comment is not None and not forges.is_named(arguments):
        raise UsageError("--comment needs --forge and --repo OWNER/NAME")
    items = previews.resources(arguments)
    old, new = (
        PolicySource(inputs.policy(path), lambda _: items)
        for path in (arguments.old, arguments.new)
    )
    # A target that is given up may be that of a policy beside it.
    around = ExistingOutput(Path(arguments.new), resources=lambda _: items)
    # By cluster, as a policy may be another one on each.
    pairs, results = successions(old, new, arguments.cluster, around.gated)
    if pairs:
        period = times.period(arguments)
        every = [compare(pair.old.timetable, pair.new.timetable, period) for pair in pairs]
        _show(every, results, arguments)
        if arguments.comment is not None:
            _comment(every, results, arguments)
    located = _located(results, old, new, arguments)
    return report.show(located, strict=arguments.strict)


def _located(
    results: Sequence[Result],
    old: PolicySource,
    new: PolicySource,
    arguments: argparse.Namespace,
) -> list[Result]:
    """Return results with their lines: of the older file where the newer one does not have it."""
    mended = set(old.load().results) - set(new.load().results)
    older = [each for each in results if each in mended]
    newer = [each for each in results if each not in mended]
    return [
        *report.located(older, {arguments.old: old.config}, arguments.resources),
        *report.located(newer, {arguments.new: new.config}, arguments.resources),
    ]


def _show(
    every: Sequence[Difference],
    results: Sequence[Result],
    arguments: argparse.Namespace,
) -> None:
    if arguments.output == "text":
        output.show_words(changes.text(every))
    elif arguments.output == "markdown":
        output.show(changes.markdown(every, sort(results)))
    else:
        found = [records.difference(one) for one in every]
        # A list wherever more than one cluster may be meant, even if just one is: `jq '.[]'` then
        # always works.
        if arguments.cluster is None and every[0].cluster is not None:
            output.show_json(found)
        else:
            output.show_json(found[0])


def _comment(
    every: Sequence[Difference],
    results: Sequence[Result],
    arguments: argparse.Namespace,
) -> None:
    """Say it on a change; where there is nothing to be said, only in place of what was."""
    forge = forges.connected(arguments)
    from krm_windows.forge import comments  # noqa: PLC0415 - the extra `forge`

    # A comment for each policy, and for each cluster that is asked for alone.
    name = f"diff {every[0].policy} {arguments.cluster or ''}"
    is_news = bool(results) or any(one.changes for one in every)
    text = changes.markdown(every, sort(results))
    if comments.put(forge, arguments.comment, name, text, is_news=is_news):
        output.log(f"commented on #{arguments.comment}")
