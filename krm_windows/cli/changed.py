"""What the commands that change a policy's file share: audit, show the hours, write, commit."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import cluster_resources, inputs, output, questions, rendered, report, times
from krm_windows.cli.arguments import output_format
from krm_windows.cli.inputs import UsageError
from krm_windows.edit import overrides
from krm_windows.edit.proposal import Proposal, View, propose
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.krm import Entry, InputError, KubeObject
from krm_windows.plurals import clusters, counted
from krm_windows.preview import changes, records, stages
from krm_windows.preview.calendar import Period
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.render.outputs import Output, Renewal
from krm_windows.results import Result, fails, sort
from krm_windows.system import commits, git_progress, tops
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError

Change = Callable[[KubeObject], KubeObject]
"""Makes the policy that is to be from the one that is; raises InputError where it cannot."""
# Four weeks: every weekday four times.
_DAYS = 28


def options(parser: argparse.ArgumentParser, begins: str = "") -> None:
    """Declare the options of every command that changes a policy's file.

    With `begins`, what `--from` means, the command reads that itself.
    """
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would be written, but write nothing"
    )
    times.options(parser, days=_DAYS, begins=begins)
    parser.add_argument(
        "--resources",
        metavar="DIR",
        help="where to read the targets' timeouts for `closesEarly: auto`",
    )
    output_format(parser)
    parser.add_argument(
        "--commit",
        action="store_true",
        help="commit the files that this writes with git, and nothing else",
    )
    report.options(parser)


@dataclass(frozen=True, slots=True)
class Urgency:
    """A change that cannot wait for an audit: an override.

    It is that of a name, if of one alone, empty where the change gives it, and the `heading` says
    more of it. What it is to `confirm` is asked once all has been shown, before anything is
    written.
    """

    override: str | None = None
    heading: str = ""
    confirm: str = ""


def run(
    arguments: argparse.Namespace, change: Change, at: datetime, urgency: Urgency | None = None
) -> ExitCode:
    """Change the policy of a file, unless an error is found in what it would be.

    What is rendered from it is rendered again in the same write. Of what is urgent it is said
    what holds from now on, an audit's errors are shown, and only what does not build is not
    written.
    """
    urgent = urgency is not None
    made = urgency or Urgency()
    is_text = arguments.output == "text"
    if arguments.policy == inputs.STDIN:
        raise UsageError("POLICY must be a file, which is written again")
    # A link itself would be replaced by a file, and what it led to would stay as it was.
    path = tops.followed(Path(arguments.policy))
    # By the name that was given, which is also what messages say.
    top, outputs = rendered.of_file(path, inputs.policy(arguments.policy))
    # Nobody else changes these files here between the reading and the writing.
    with ExitStack() as stack:
        for folder in sorted({path.parent, *(top / each.directory for each in outputs)}):
            stack.enter_context(Directory.named(folder).alone())
        file = os.path.relpath(path, top)
        if arguments.commit:
            commits.check(top, file)
        proposal = _proposed(arguments, change, at, path, urgent=urgent)
        new = proposal.new
        arguments.reason = arguments.reason or f"Change {new.namespace}/{new.name}"
        failed = proposal.fails(strict=arguments.strict, urgent=urgent)
        writes = not failed and not arguments.dry_run
        asks = writes and bool(made.confirm)
        said = proposal.spoken_turns if urgent else ""
        every = proposal.found if arguments.strict else proposal.results
        # With the lines that the file has after the change.
        found = report.located(every, {arguments.policy: new}, arguments.resources)
        output.log_list(sort(found))
        if is_text:
            hours = _hours(proposal, is_for_all=arguments.cluster is None) + said
            # Nobody reads tables at 3 a.m.
            words = proposal.brief_turns if asks else hours
            output.show_words(words if failed else made.heading + words)
        if asks:
            refusal = commits.refusal(top, file)
            arguments.commit = questions.confirm(made.confirm, refusal, commits=arguments.commit)
        written = WriteOutcome()
        if writes:
            written = _write(file, top, outputs, proposal, urgent=urgent)
            written = _committed(written, arguments)
    output.log_list(written.problems)
    if is_text:
        rendered_to = [each.directory for each in outputs]
        lines = _outcome(arguments, proposal, written, rendered_to, brief=asks)
        output.show_lines(lines)
        # As they are: a command that is broken between words is another one.
        output.show(_commands(written, arguments.reason))
    else:
        name = overrides.meant(made.override, proposal.old, new)
        more = {"override": name, "summary": said or escape.lines(proposal.unmoved)}
        record = _record(arguments, proposal, written, sort([*found, *written.problems]))
        output.show_json({**record, **{key: words for key, words in more.items() if words}})
    return ExitCode.of(failed=failed or bool(written.stale))


def check_commit(policy: str) -> None:
    """Raise WorkspaceError where a policy's file was changed, so that no commit can be made."""
    path = tops.followed(Path(policy))
    top = rendered.top_of(path)
    commits.check(top, os.path.relpath(path, top))


def _proposed(
    arguments: argparse.Namespace, change: Change, at: datetime, path: Path, *, urgent: bool
) -> Proposal:
    """Change the policy, and say what comes of it."""
    items = cluster_resources.read(arguments.resources)
    old = inputs.policy(arguments.policy)
    if isinstance(old, Entry):
        message = "is an entry of a List; make the policy a document of its own to change it here"
        line = old.lines_above + old.node.line
        raise InputError(message, line, old.node.column, arguments.policy)
    try:
        new = change(old)
    except InputError as error:
        # With a line it is about the policy's text; without one, about what is to become of it.
        if error.line:
            raise error.in_file(arguments.policy) from error
        raise
    period = None
    if arguments.start is not None or arguments.days != _DAYS:
        # From the minute on, as windows know no seconds.
        period = Period(arguments.start or at.replace(second=0, microsecond=0), arguments.days)
    # A target that is given up may be that of a policy beside it.
    around = ExistingOutput(path, resources=lambda _: items)
    return propose(old, new, around.resources, View(at, period, urgent), around.gated)


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of a change: the `paths` that were written, and in which commit if in one.

    `renewals` are of what was rendered from it, below the `top` of the repository.
    """

    paths: tuple[str, ...] = ()
    commit: str | None = None
    renewals: tuple[Renewal, ...] = ()
    top: Path = Path()

    @property
    def is_written(self) -> bool:
        """Whether any file is."""
        return bool(self.paths)

    @property
    def stale(self) -> list[Renewal]:
        """What was rendered from the policy and does not follow it."""
        return [each for each in self.renewals if not each.is_known]

    @property
    def problems(self) -> list[Result]:
        """Why some of it cannot be rendered."""
        every = chain.from_iterable(each.results for each in self.renewals)
        return sort(each for each in every if fails([each]))

    @property
    def directories(self) -> list[RenderedDirectory]:
        """The directories that are rendered from it, with the files that this changes."""
        in_git = True if self.commit else None
        every = [each.directory(os.path.relpath(self.top), in_git=in_git) for each in self.renewals]
        if not self.is_written:
            return every
        # What could be rendered is written, and the rest does not follow the policy any more.
        return [replace(each, is_stale=each.is_stale is None) for each in every]

    @property
    def missing(self) -> list[str]:
        """What has to happen before a cluster knows of the change, in this order."""
        if not self.is_written:
            return []
        steps = [] if self.commit else ["commit"]
        return [*(["render"] if self.stale else []), *steps, "push", "reconcile"]


def _write(
    file: str, top: Path, outputs: Sequence[Output], proposal: Proposal, *, urgent: bool
) -> WriteOutcome:
    """Write a policy's file, by its path from the top, and render what is rendered from it.

    Where `render` finds an error nothing is written, but for what is `urgent`.
    """
    undo: dict[str, bytes | None] = {}
    if proposal.changes_text:
        undo = {file: proposal.old.source}
        rendered.write(top, {file: proposal.content})
    try:
        renewals = tuple(rendered.renew(top, each, Path.cwd()) for each in outputs)
        if not urgent and any(fails(each.results) for each in renewals):
            rendered.write(top, undo)
            return WriteOutcome(renewals=renewals)
        edits = dict(chain.from_iterable(each.edits.items() for each in renewals))
        undo = {**rendered.contents(top, edits), **undo}
        rendered.write(top, edits)
    except (WorkspaceError, OSError):
        # The files say the same again.
        rendered.write(top, undo)
        raise
    paths = [*([file] if proposal.changes_text else []), *edits]
    return WriteOutcome(tuple(paths), renewals=renewals, top=top)


def _committed(written: WriteOutcome, arguments: argparse.Namespace) -> WriteOutcome:
    """Commit what was written; raises WorkspaceError where that is nothing, or Git refuses.

    Where it could not be rendered, nothing was written.
    """
    if not arguments.commit or (written.stale and not written.paths):
        return written
    if not written.paths:
        raise WorkspaceError(f"{arguments.policy}: nothing was written, so nothing is committed")
    try:
        commit = commits.commit(written.top, written.paths, arguments.reason)
        return replace(written, commit=commit)
    except WorkspaceError as error:
        if arguments.output == "text":
            output.show(_commands(written, arguments.reason))
        raise WorkspaceError(f"{arguments.policy}: written, but not committed: {error}") from error


def _commands(written: WriteOutcome, message: str) -> str:
    """Return what is left to commit and push what was written, for a shell."""
    if written.stale or not written.is_written:
        return ""
    # Rendered files may be many, and nothing else is in their directory.
    places = [each.directory for each in written.directories if each.files]
    left = [] if written.commit else [*written.paths[:1], *places]
    return commits.by_hand(written.top, left, message)


def _record(
    arguments: argparse.Namespace,
    proposal: Proposal,
    written: WriteOutcome,
    found: Sequence[Result],
) -> dict[str, object]:
    """Return it for JSON, with the members of the service's answer."""
    return {
        "policy": f"{proposal.old.namespace}/{proposal.old.name}",
        "file": arguments.policy,
        "written": written.is_written,
        "commit": written.commit,
        "missing": written.missing,
        "rendered": [each.record() for each in written.directories],
        "differences": [records.difference(one) for one in proposal.differences],
        # The same form as in a ResourceList, so that one reader does for both.
        "results": [each.value() for each in found],
    }


def _hours(proposal: Proposal, *, is_for_all: bool) -> str:
    """Say which hours open and close."""
    text = changes.text([turn.difference for turn in proposal.changed])
    kept = [turn.difference.cluster or "" for turn in proposal.turns if not turn.changes]
    # Whoever names a cluster means no other; else one that keeps its policy is a surprise.
    if is_for_all and 0 < len(kept) < len(proposal.turns):
        text += f"not changed on {clusters(kept)}\n"
    return text + escape.lines(f"  {each}" for each in proposal.unmoved)


def _outcome(
    arguments: argparse.Namespace,
    proposal: Proposal,
    written: WriteOutcome,
    directories: Sequence[str],
    *,
    brief: bool,
) -> Iterator[str]:
    """Say in a line what became of the file, and of each directory that is rendered from it."""
    file = arguments.policy
    if written.commit is not None:
        # Twelve digits are enough to be unique in a large repository.
        yield f"{file}: committed as {written.commit[:12]}"
    elif not proposal.changes_text:
        yield f"{file}: already up to date, nothing to write"
    elif written.is_written:
        yield f"{file}: written"
    elif arguments.dry_run:
        yield f"{file}: not written (--dry-run)"
    else:
        yield f"{file}: not written because of the errors above"
        return
    if arguments.dry_run:
        yield from (f"{each}: would be rendered again" for each in directories)
    for each in written.directories:
        yield from _renewed(each)
    if not (directories or brief):
        yield from stages.rendered([])
    if written.is_written:
        *steps, _ = written.missing
        then = "" if brief else ", then Flux applies it (`status --wait` waits)"
        differs, _ = git_progress.push(written.top)
        how = f" ({differs})" if differs else ""
        yield f"in no cluster yet: {', '.join(steps)}{how}{then}"


def _renewed(each: RenderedDirectory) -> Iterator[str]:
    """Say what became of a directory that is rendered from the policy."""
    if each.is_stale:
        yield f"{each.directory}: stale, because it cannot be rendered: {each.reason}"
        yield f"  so the change is not in force; then run: {each.call}"
    else:
        number = counted(len(each.files), "file") if each.files else "no file changed"
        yield f"{each.directory}: rendered again, {number}"
