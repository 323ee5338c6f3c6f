"""`krm-windows merge-gate`: the policy that gates a cluster says when a pull request may land."""

import argparse
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from krm_windows.cli import forges, gated, inputs, output, previews, report, sleeping
from krm_windows.cli.inputs import UsageError
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError
from krm_windows.plan import utc_edges
from krm_windows.plan.timetable import covered
from krm_windows.preview.versions import Choice
from krm_windows.schedule.timetable import Timetable

if TYPE_CHECKING:
    from krm_windows.forge.connect import Connected
    from krm_windows.forge.gate import GateOutcome, MergeGate
    from krm_windows.forge.merging import Merger
    from krm_windows.forge.policies import Policy
    from krm_windows.forge.reach import Changes

_SCHEDULE = """\
# The edges of the windows in UTC, by krm-windows merge-gate --print-schedule. Where a
# zone changes its clocks, an edge is at one of two hours: both are listed, and the
# run at the wrong hour changes nothing. Print it again when a policy changes.
schedule:
"""


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policies", metavar="POLICY", nargs="+", help="the file of a WindowPolicy")
    forges.options(parser)
    gated.options(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--print-schedule",
        action="store_true",
        help="print when to run it, as cron schedules in UTC",
    )
    how.add_argument(
        "--head",
        metavar="SHA",
        help="check only this commit, with exit code 10 if it may not be merged now",
    )
    # Not in the group, which argparse shows in one line.
    parser.add_argument(
        "--event",
        metavar="FILE",
        help="check the commit of GitHub's merge_group event",
    )
    parser.add_argument(
        "--change",
        type=int,
        metavar="NUMBER",
        help="the pull request that --head belongs to, whose labels then count",
    )
    parser.add_argument("--dry-run", action="store_true", help="change nothing on the forge")
    report.options(parser)


def run(arguments: argparse.Namespace, clock: Clock = sleeping.REAL) -> ExitCode:
    """Set the status of every open change."""
    asked = _of_event(arguments)
    if forges.is_named(asked) and not asked.print_schedule:
        # What is not installed is said before whatever is wrong with the repository.
        from krm_windows.forge import connect  # noqa: F401, PLC0415 - the extra `forge`
    with gated.based(asked) as found:
        return _run(found, clock)


def _run(arguments: argparse.Namespace, clock: Clock) -> ExitCode:
    # By the repository a policy counts for each cluster; by hand for one.
    every = not arguments.paths and arguments.cluster is None
    choice = Choice(arguments.cluster, every=every)
    versions, code = previews.load(arguments.policies, choice, arguments)
    if not versions:
        return code
    if arguments.print_schedule:
        timetables = [version.timetable for version in versions]
        output.show("".join(_schedule(timetables)))
        return code
    # A pipeline that is itself what is demanded needs neither a status nor a token.
    is_alone = arguments.head is not None and arguments.forge is None
    if not is_alone and not forges.is_named(arguments):
        raise UsageError("give --forge and --repo OWNER/NAME, or --print-schedule")
    forge = None if is_alone else forges.connected(arguments)
    policies, look = gated.read(versions, arguments, clock.now, forge)
    gate = None if forge is None else _gate(forge, policies, look, arguments)
    if gate is None or arguments.head is not None:
        return _answer(gate, policies, look, arguments, clock)
    merger = _merger(gate, arguments, clock)
    failed = False
    for outcome in gate.run(clock.now):
        failed = failed or outcome.error is not None
        _tell(outcome, dry_run=gate.dry_run)
    if merger is not None:
        failed = _land(merger) or failed
    return ExitCode.of(failed=failed)


def _of_event(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments with what an event says: the commit, and what it is merged onto."""
    found = argparse.Namespace(**vars(arguments))
    if arguments.event is not None:
        from krm_windows.forge import queue  # noqa: PLC0415 - the extra `forge`

        # Two answers to one question: nobody could say which is meant.
        if arguments.base is not None or arguments.head is not None:
            raise UsageError("--event cannot be used with --base or --head")
        group = queue.event(inputs.content(arguments.event))
        found.head = group.sha
        found.base = group.base
        found.change = group.number
    # What a commit is merged onto is what judges it: its own tree may open its own window.
    if found.head is not None and found.base is None:
        raise UsageError("--head needs --base REF, the commit that it will be merged onto")
    return found


def _answer(
    gate: "MergeGate | None",
    policies: "list[Policy]",
    look: "Changes",
    arguments: argparse.Namespace,
    clock: Clock,
) -> ExitCode:
    """Answer whether a commit may be merged, to whoever called; by a gate as its status, too."""
    from krm_windows.forge.policies import judge  # noqa: PLC0415 - not for other commands

    sha = arguments.head
    if gate is None:
        # No forge is asked, so no labels are known: the files alone say which policies gate it.
        verdict = judge(policies, look("", sha), frozenset(), clock.now())
    else:
        # By its number the forge says which labels it has.
        number = arguments.change
        change = None if number is None else gate.forge.change(number)
        verdict, _ = gate.answer(sha, change, look("", sha), clock.now())
    words = f"{sha[:12]} {verdict.state.value}: {verdict.words}"
    output.show_lines([words])
    return ExitCode.FINE if verdict.may_land else ExitCode.CLOSED


def _gate(
    forge: "Connected", policies: list["Policy"], look: "Changes", arguments: argparse.Namespace
) -> "MergeGate":
    from krm_windows.forge import gate  # noqa: PLC0415 - the extra `forge`

    return gate.MergeGate(
        forge,
        policies,
        look,
        context=arguments.context,
        link=arguments.link,
        dry_run=arguments.dry_run,
        jobs=arguments.jobs,
        bases=frozenset(arguments.branches),
        base="" if arguments.paths else arguments.base,
    )


def _merger(gate: "MergeGate", arguments: argparse.Namespace, clock: Clock) -> "Merger | None":
    """Return what merges or approves, if that is asked for."""
    from krm_windows.forge import Method, merging  # noqa: PLC0415 - the extra `forge`

    if not arguments.merge and not arguments.approve_only:
        return None
    method = None if arguments.merge_method is None else Method(arguments.merge_method)
    # Whether a merge request is rebased is a setting of the project.
    if method is Method.REBASE and arguments.forge == "gitlab":
        raise InputError("GitLab takes rebase from the project's settings: remove mergeMethod")
    return merging.Merger(
        gate,
        clock.now,
        clock.sleep,
        timeout=arguments.timeout,
        method=method,
        approve_only=arguments.approve_only,
    )


def _tell(outcome: "GateOutcome", *, dry_run: bool) -> None:
    """Say what came of a change; what was said before is not repeated."""
    name = f"#{outcome.change.number} {outcome.change.sha[:12]}"
    verdict = outcome.verdict
    if outcome.error is not None:
        output.log(f"{name}: {outcome.error}")
    elif verdict is not None and outcome.is_new:
        would = "would be " if dry_run else ""
        words = f"{name} {would}{verdict.state.value}: {verdict.words}"
        output.show_lines([words])


def _land(merger: "Merger") -> bool:
    """Merge what may be merged, or approve it; return whether one has failed."""
    from krm_windows.forge.merging import Result  # noqa: PLC0415 - the extra `forge`

    done = "approved" if merger.approve_only else "merged"
    words = {
        Result.MERGED: "merged",
        Result.APPROVED: "approved",
        Result.READY: f"would be {done}",
        Result.WAITS: f"not {done}",
        Result.FAILED: f"not {done}",
    }
    failed = False
    for landing in merger.run():
        change, result = landing.change, landing.result
        line = f"#{change.number} {change.sha[:12]} {words[result]}: {landing.words}"
        failed = failed or result is Result.FAILED
        if result is Result.FAILED:
            output.log(line)
        else:
            output.show_lines([line])
    return failed


def _schedule(timetables: Iterable[Timetable]) -> Iterator[str]:
    """Yield lines of a workflow: the UTC times of all edges, each once."""
    # Those of a single day come back every week: a run too many does no harm.
    tables = (covered(timetable).table for timetable in timetables)
    every = chain.from_iterable(map(utc_edges.schedules, tables))
    yield _SCHEDULE
    for cron in dict.fromkeys(schedule for _, schedule in every):
        yield f'- cron: "{cron}"\n'
