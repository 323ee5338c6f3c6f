"""`krm-windows check --repo`.

Proof that nothing live and nothing windowed conflict, over a whole repository.
"""

import argparse
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from posixpath import commonpath, dirname

from krm_windows import rules
from krm_windows.checks import repository
from krm_windows.checks.report import Report
from krm_windows.checks.repository.report import compose
from krm_windows.cli import builds, inputs, output, rendered, times
from krm_windows.flux import Hints, Survey, cluster_directories, survey
from krm_windows.flux.builds import Builds
from krm_windows.plurals import counted, some
from krm_windows.system import remotes
from krm_windows.system.checkout import Checkout
from krm_windows.system.git import snapshot
from krm_windows.system.kustomize import Builder

_FEW = 3


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options for a repository."""
    group = parser.add_argument_group("a repository")
    group.add_argument(
        "--repo", metavar="DIR", help="the repository that Flux applies, instead of a policy"
    )
    builds.add_options(group)
    group.add_argument(
        "--base",
        metavar="REF",
        help="the commit that the clusters run, to find the objects that have moved since then",
    )
    group.add_argument(
        "--at",
        type=times.moment,
        metavar="TIME",
        help=(
            "with --base: when the change would be merged, in each policy's time zone or with an "
            "offset (default: now)"
        ),
    )
    group.add_argument(
        "--allow-cross-namespace",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help=(
            "let policies in this tenant's namespace gate targets in other namespaces (repeatable)"
        ),
    )


def report(arguments: argparse.Namespace) -> Report:
    """Return the findings on a repository."""
    inputs.check_directory(arguments.repo)
    output.working(f"check: looking through {arguments.repo}")
    tree = Checkout.at(Path(arguments.repo))
    builds.check_sources(tree, arguments.source)
    with ExitStack() as stack:
        builder = builds.builder(Path(tree.root), arguments)
        before = None
        # Two whole surveys: a change of one file may change the build of any cluster.
        if arguments.base is not None:
            older = stack.enter_context(snapshot(Path(arguments.repo), arguments.base))
            before = survey_of(Checkout.at(older), builder, arguments)
        after = survey_of(tree, builder, arguments)
        # A glob that matches nothing would otherwise be a check that finds no fault.
        if not after.clusters:
            raise builds.unmatched(arguments.repo, arguments.clusters)
        found = repository.findings(
            after, before, arguments.allow_cross_namespace, arguments.at or times.now()
        )
        more = (_unlisted(after, arguments.clusters), _stale(tree))
        return compose(arguments.repo, after, chain(found, *more))


def _stale(tree: Checkout) -> Iterator[repository.Finding]:
    """Yield the rendered windows that are not what is rendered now, or of which nobody knows."""
    top = Path(tree.root)
    for each in rendered.find(tree):
        made = rendered.renew(top, each)
        rule, message = rules.WINDOWS_STALE, ""
        if each.command is None:
            rule = rules.WINDOWS_UNCHECKED
            places = some(list(map(dirname, each.kustomizations)), _FEW)
            message = (
                f"nothing in {places} says how the windows of {', '.join(sorted(each.policies))} "
                "were rendered, so whether they are up to date is unknown: render them again with "
                "this version"
            )
        elif not made.is_known:
            message = (
                f"the windows in {each.directory} cannot be rendered from {each.sources} any more: "
                f"{made.why}; then run `{each.command}`"
            )
        elif made.edits:
            message = (
                f"the windows in {each.directory} are not what {each.sources} yields now "
                f"({counted(len(made.edits), 'file')} out of date), so the change is not in force: "
                f"run `{each.command}` at the top of the repository, and commit"
            )
        if message:
            yield repository.Finding(rule, message, file=each.kustomizations[0])


def _unlisted(found: Survey, pattern: str | None) -> Iterator[repository.Finding]:
    """Yield where Flux seems to enter, and the usual pattern leads to none."""
    # Whoever gives a pattern may mean one cluster of many.
    if pattern is not None:
        return
    for directory, file in found.unlisted.items():
        pairs = ((directory, cluster.root) for cluster in found.clusters)
        # One may be in the other.
        if not any(commonpath(pair) in pair for pair in pairs):
            message = (
                f"Flux seems to apply {directory} to a cluster that was not found, so it was not "
                "checked: if it is a cluster's directory, check it with `--clusters "
                f"{shlex.quote(directory)}`"
            )
            yield repository.Finding(rules.CLUSTER_UNLISTED, message, file=file)


def survey_of(
    tree: Checkout,
    builder: Builder | None,
    arguments: argparse.Namespace,
) -> Survey:
    """Follow the clusters of a tree."""
    # The addresses of `origin` say which GitRepository is this very repository.
    hints = Hints.of(arguments.source, remotes.addresses(Path(arguments.repo)))
    # Of some clusters only: a policy in the directory of another one is that cluster's.
    if arguments.clusters is not None:
        others = tuple(each.directory for each in cluster_directories.find(tree))
        hints = replace(hints, clusters=others)
    made = Builds(tree, builder, arguments.jobs)
    return survey(tree, builds.directories(tree, arguments.clusters), made, hints)
