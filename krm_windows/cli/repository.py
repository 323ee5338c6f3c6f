"""`krm-windows check --repo`.

Proof that nothing live and nothing windowed conflict, over a whole repository.
"""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from posixpath import dirname

from krm_windows.checks import repository
from krm_windows.checks.formats import FORMATS
from krm_windows.checks.repository.report import compose
from krm_windows.cli import builds, output, progress, times
from krm_windows.exit_codes import ExitCode
from krm_windows.flux import Given, Hints, Survey, entrances, survey
from krm_windows.flux.builds import Builds
from krm_windows.krm import InputError
from krm_windows.results import fails
from krm_windows.system import processes, remotes
from krm_windows.system.checkout import Checkout
from krm_windows.system.git import snapshot
from krm_windows.system.kustomize import Builder

# As Flux's own example repository has it (fluxcd/flux2-kustomize-helm-example).
CLUSTERS = "clusters/*"
# In a message, of clusters that seem to be there.
_FEW = 3


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options for a repository."""
    group = parser.add_argument_group("a repository")
    group.add_argument(
        "--repo", metavar="DIR", help="the repository that Flux applies, in place of a policy"
    )
    group.add_argument(
        "--clusters",
        metavar="GLOB",
        default=CLUSTERS,
        help=f"the clusters' directories in it (default: {CLUSTERS})",
    )
    group.add_argument(
        "--source",
        action="append",
        default=[],
        type=source,
        metavar="NAME=DIR",
        help=(
            "this source is that directory of the repository, `.` for all of it; NAME or "
            "NAMESPACE/NAME (repeatable)"
        ),
    )
    group.add_argument(
        "--since",
        metavar="REF",
        help="the commit that the clusters have: what moved since is judged",
    )
    group.add_argument(
        "-j",
        "--jobs",
        type=_builds,
        default=os.cpu_count() or 1,
        metavar="N",
        help="builds at a time (default: all cores)",
    )
    group.add_argument(
        "--allow-cross-namespace",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help=(
            "policies in this namespace may gate targets in others, though it is a tenant's "
            "(repeatable)"
        ),
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="where builds are kept (default: in the user's cache folder)",
    )
    group.add_argument(
        "--no-cache", action="store_true", help="keep no builds, and use none that were kept"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the findings on a repository."""
    tree = Checkout.at(Path(arguments.repo))
    if not tree.is_directory("."):
        raise InputError(f"{arguments.repo}: no such directory")
    with ExitStack() as stack:
        builder = Builder.find(builds.requested_cache(Path(tree.root), arguments))
        if builder is not None:
            stack.enter_context(builder)
        before = None
        # Two whole surveys: a change of one file may change the build of any cluster.
        if arguments.since is not None:
            older = stack.enter_context(snapshot(Path(arguments.repo), arguments.since))
            before = _survey(Checkout.at(older), builder, arguments)
        after = _survey(tree, builder, arguments)
        # A glob that matches nothing would otherwise be a check that finds no fault.
        if not after.clusters:
            raise InputError(
                f"{arguments.repo}: no directory matches {arguments.clusters}; {_advice(tree)}"
            )
        report = compose(
            arguments.repo, after, repository.check(after, before, arguments.allow_cross_namespace)
        )
    output.show(FORMATS[arguments.output]([report]))
    return ExitCode.of(failed=fails(report.results, strict=arguments.strict))


def _survey(
    tree: Checkout,
    builder: Builder | None,
    arguments: argparse.Namespace,
) -> Survey:
    # The addresses of `origin` say which GitRepository is this very repository.
    hints = Hints.of(arguments.source, remotes.addresses(Path(arguments.repo)))
    with progress.meter("builds") as report:
        return survey(
            tree,
            tree.directories(arguments.clusters),
            Builds(tree, builder, arguments.jobs, report),
            hints,
        )


def _advice(tree: Checkout) -> str:
    """Say where clusters may lie, and how to name them."""
    found = [each.directory for each in entrances.find(tree)]
    if not found:
        return "--clusters says where they are, and no Flux Kustomization was found that says it"
    # Example: `clusters/dev, clusters/prod, clusters/test and 2 more`.
    some = ", ".join(found[:_FEW])
    if len(found) > _FEW:
        some += f" and {len(found) - _FEW} more"
    # One that is alone is named itself: what lies beside it may be no cluster.
    parents = {dirname(directory) for directory in found}
    pattern = found[0]
    if len(parents) == 1 and len(found) > 1:
        pattern = f"{parents.pop()}/*"
    return f"clusters seem to start from {some}: say so with `--clusters '{pattern}'`"


def source(text: str) -> Given:
    """Read what `--source` says; raises ArgumentTypeError."""
    try:
        return Given.parse(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _builds(text: str) -> int:
    return times.count(text, "builds", processes.MOST)
