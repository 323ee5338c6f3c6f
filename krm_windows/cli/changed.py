"""What the commands that change a policy's file share: audit, show the hours, write, commit."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from krm_windows.cli import cluster_resources, inputs, output, report, times
from krm_windows.cli.arguments import output_format, person
from krm_windows.cli.inputs import UsageError
from krm_windows.edit.proposal import Proposal, View, propose
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError, KubeObject
from krm_windows.preview import changes, records
from krm_windows.preview.calendar import Period
from krm_windows.results import Result
from krm_windows.schedule import zones
from krm_windows.system import files, locks
from krm_windows.system.commits import WorkingTree
from krm_windows.system.errors import WorkspaceError

Change = Callable[[KubeObject], KubeObject]
"""Makes the policy that is to be from the one that is; raises InputError where it cannot."""
# Four weeks: every weekday four times.
_DAYS = 28


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every command that changes a policy's file."""
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, but write nothing"
    )
    times.options(parser, days=_DAYS)
    parser.add_argument(
        "--resources",
        metavar="DIR",
        help="where to read the targets' timeouts for `closesEarly: auto`",
    )
    output_format(parser)
    parser.add_argument(
        "--commit", action="store_true", help="commit the file, and only this file; needs --reason"
    )
    parser.add_argument(
        "--author",
        type=person,
        metavar="'NAME <EMAIL>'",
        help="the author of the commit",
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="refuse to commit on any other branch than this one"
    )
    report.options(parser)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a change beside its hours: a `text`, and the override it makes or ends."""

    text: str = ""
    override: str | None = None


def _nothing(_: Proposal) -> Said:
    """Say nothing more."""
    return Said()


def run(
    arguments: argparse.Namespace,
    change: Change,
    at: datetime,
    describe: Callable[[Proposal], Said] = _nothing,
    *,
    urgent: bool = False,
) -> ExitCode:
    """Change the policy of a file, unless an error is found in what it would be.

    `describe` says more of the change than which hours it moves. Of what is `urgent`
    an audit's errors are shown, and only what does not build is not written.
    """
    # Before the file is touched, so that a wrong call costs nothing.
    _check(arguments)
    path = _file(arguments.policy)
    items = cluster_resources.read(arguments.resources)
    # Nobody else changes a file here between the reading and the writing.
    with locks.alone(path.parent):
        tree = None
        # A branch that is not the wanted one is refused before there is anything to take back.
        if arguments.commit:
            tree = WorkingTree.of(path)
            tree.check(arguments.branch)
        # By the name that was given, which is also what messages say.
        old = inputs.policy(arguments.policy)
        view = View(at, _period(arguments, old, at), urgent)
        proposal = propose(old, _changed(old, change, arguments.policy), items, view)
        failed = proposal.fails(strict=arguments.strict, urgent=urgent)
        # A change that says what the file already says leaves no empty commit behind.
        writes = proposal.changes_text and not failed and not arguments.dry_run
        commit = _write(path, proposal, tree, arguments) if writes else None
    show = _show_text
    if arguments.output == "json":
        show = _show_json
    show(arguments, proposal, describe(proposal), commit, written=writes)
    return ExitCode.of(failed=failed)


def _changed(policy: KubeObject, change: Change, file: str) -> KubeObject:
    try:
        return change(policy)
    except InputError as error:
        # With a line it is about the policy's text; without one, about what is to become of it.
        if error.line:
            raise error.in_file(file) from error
        raise


def _period(
    arguments: argparse.Namespace,
    policy: KubeObject,
    at: datetime,
) -> Period:
    """Return the time of which hours are compared: from now on, if nothing else is asked for."""
    if arguments.start is None:
        # From the minute on, as windows know no seconds.
        return Period(at.replace(second=0, microsecond=0), arguments.days)
    zone: tzinfo = UTC
    # A zone that is none is an error of the policy, which is reported as such.
    named = policy.get("spec", "timeZone")
    if isinstance(named, str) and named in zones.names():
        zone = zones.zone(named)
    return Period(times.in_zone(arguments.start, zone), arguments.days)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.commit and not arguments.reason:
        raise UsageError("--commit needs --reason TEXT, which becomes the commit message")
    for option in ("author", "branch"):
        if getattr(arguments, option) is not None and not arguments.commit:
            raise UsageError(f"--{option} needs --commit")


def _file(given: str) -> Path:
    """Return the path of a file, behind the links that lead to it."""
    inputs.check_file(given)
    path = Path(given)
    # A link itself would be replaced by a file, and what it led to would stay as it was.
    return path.resolve()


def _write(
    path: Path,
    proposal: Proposal,
    tree: WorkingTree | None,
    arguments: argparse.Namespace,
) -> str | None:
    """Write the file; return its commit, if there is to be one.

    What cannot be committed is taken back.
    """
    old = proposal.old
    files.replace(path, proposal.content)
    if tree is None:
        return None
    try:
        return tree.commit(arguments.reason, arguments.author)
    except WorkspaceError:
        # The file and the history say the same again; what git said is shown.
        files.replace(path, old.source)
        raise


def _show_json(
    arguments: argparse.Namespace,
    proposal: Proposal,
    said: Said,
    commit: str | None,
    *,
    written: bool,
) -> None:
    results = _located(arguments, proposal)
    record: dict[str, object] = {
        "policy": f"{proposal.old.namespace}/{proposal.old.name}",
        "file": arguments.policy,
        "written": written,
        "commit": commit,
    }
    # As the service says it, whose answer has the same members.
    if said.override is not None:
        record["override"] = said.override
    if said.text:
        record["summary"] = said.text
    record["differences"] = [records.difference(one) for one in proposal.differences]
    # The same form as in a ResourceList, so that one reader does for both.
    record["results"] = [result.value() for result in results]
    output.show_json(record)


def _show_text(
    arguments: argparse.Namespace,
    proposal: Proposal,
    said: Said,
    commit: str | None,
    *,
    written: bool,
) -> None:
    output.log_results(_located(arguments, proposal))
    output.show_words(changes.text(proposal.differences, output.width()) + said.text)
    output.show_words(_outcome(arguments, proposal, commit, written=written))


def _located(arguments: argparse.Namespace, proposal: Proposal) -> list[Result]:
    """Return what was found, with the lines that the file has after the change."""
    return report.located(proposal.results, {arguments.policy: proposal.new}, arguments.resources)


def _outcome(
    arguments: argparse.Namespace,
    proposal: Proposal,
    commit: str | None,
    *,
    written: bool,
) -> str:
    """Say in a line what became of the file."""
    file = arguments.policy
    if commit is not None:
        # Twelve digits are enough to be unique in a large repository.
        return f"{file}: committed as {commit[:12]}\n"
    if written:
        return f"{file}: written\n"
    if not proposal.changes_text:
        return f"{file}: already up to date, nothing to write\n"
    if arguments.dry_run:
        return f"{file}: not written (--dry-run)\n"
    return f"{file}: not written because of the errors above\n"
