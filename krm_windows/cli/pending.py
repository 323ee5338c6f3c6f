"""`krm-windows pending`: what waits for a policy to open, and what is in it."""

import argparse
from contextlib import ExitStack
from datetime import datetime

from krm_windows.cli import (
    builds,
    cluster,
    output,
    pending_revisions,
    policies,
    previews,
    report,
    written,
)
from krm_windows.cli.arguments import output_format, policy
from krm_windows.cli.cluster import PolicyInCluster
from krm_windows.cli.inputs import UsageError
from krm_windows.cli.pending_revisions import Lookup
from krm_windows.exit_codes import ExitCode
from krm_windows.pending import records, text
from krm_windows.pending.report import Pending
from krm_windows.pending.report import report as pending_of
from krm_windows.system.errors import WorkspaceError


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser)
    cluster.add_filename(parser)
    cluster.options(parser)
    output_format(parser, ("text", "json", "markdown"))
    previews.options(parser)
    group = parser.add_argument_group("a repository")
    group.add_argument(
        "--repo",
        metavar="DIR",
        help="a checkout of what Flux applies, to show the commits and objects that wait",
    )
    group.add_argument(
        "--base",
        metavar="REF",
        help="do not read a cluster: assume that this commit is applied",
    )
    group.add_argument("--head", metavar="REF", help="with --base: the new commit (default: HEAD)")
    builds.add_options(group)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print what waits; that something does is no error."""
    _check(arguments)
    policies.find(arguments)
    with ExitStack() as stack:
        looking = None
        if arguments.repo is not None:
            looking = pending_revisions.Lookup.begun(arguments, stack)
        if looking is not None and arguments.base is not None:
            found, at, code = pending_revisions.of_refs(looking, arguments)
        else:
            found, at, code = _of_cluster(looking, arguments)
    if found is None:
        return code
    _show(found, at, arguments)
    return ExitCode.FINE


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that say nothing together; raises InputError."""
    for option in ("base", "head"):
        if getattr(arguments, option) and arguments.repo is None:
            raise UsageError(f"--{option} needs --repo DIR")
    if arguments.base is None:
        if arguments.head is not None:
            raise UsageError("--head needs --base")
        return
    # A cluster would be asked for nothing, and whoever gave it expects an answer of it.
    for option in ("filename", "kubeconfig", "context"):
        if getattr(arguments, option) is not None:
            raise UsageError(
                f"--base does not read a cluster, so it cannot be used with --{option}"
            )


def _of_cluster(
    looking: Lookup | None, arguments: argparse.Namespace
) -> tuple[Pending | None, datetime, ExitCode]:
    """Say what waits by the objects of a cluster."""
    asked = PolicyInCluster.of(arguments)
    try:
        answer = asked.judged()
    except WorkspaceError as error:
        raise WorkspaceError(
            f"what waits is asked of a cluster, and none answered: {error}; to ask none: `pending "
            f"{arguments.policy} --repo . --base REF`, where REF is the commit that is applied"
        ) from error
    code = report.show(answer.results, strict=arguments.strict)
    # A policy that is wrong has no targets to ask for.
    if answer.report is None or code is not ExitCode.FINE:
        return None, answer.at, code
    # Without a repository the revisions are all that can be said.
    of_repository = () if looking is None else (looking.look, looking.head)
    return pending_of(answer.report, answer.objects, asked.more, *of_repository), answer.at, code


def _show(found: Pending, at: datetime, arguments: argparse.Namespace) -> None:
    if arguments.output == "json":
        output.show_json(records.pending(found, at))
    elif arguments.output == "markdown":
        output.show(text.markdown(found))
    else:
        output.show_words(text.render(found, written.stage(arguments.policy)))
