"""What the merge gate goes by: policies and what they gate, in a checkout or at a commit of it."""

import argparse
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from krm_windows import rules
from krm_windows.cli import builds, inputs, output, progress
from krm_windows.flux import Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import InputError
from krm_windows.preview.versions import Version
from krm_windows.system import git, git_layout
from krm_windows.system.checkout import Checkout
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kustomize import Builder

if TYPE_CHECKING:
    from krm_windows.forge.policies import Policy


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say what is gated."""
    parser.add_argument(
        "--paths",
        action="append",
        metavar="GLOB",
        help="the paths that the policies gate; `apps/*` includes all below apps (repeatable; "
        "default: what they gate in --tree)",
    )
    parser.add_argument(
        "--tree",
        metavar="DIR",
        default=".",
        help="a checkout of the branch that Flux applies (default: %(default)s)",
    )
    parser.add_argument(
        "--base",
        metavar="REF",
        help="read the policies and the tree at this commit, the base of a change, so that a "
        "change cannot alter the rules that apply to it",
    )
    parser.add_argument(
        "--clusters",
        metavar="GLOB",
        help=builds.CLUSTERS_HELP,
    )
    builds.add_source_option(parser)


@contextmanager
def based(arguments: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """Give the arguments with the paths of what is at `--base`, if that is given.

    `checkout` is where the repository is. Raises InputError for a path outside of the tree.
    """
    found = argparse.Namespace(**vars(arguments))
    found.checkout = arguments.tree
    if arguments.base is None:
        yield found
        return
    with git.snapshot(Path(arguments.tree), arguments.base) as older:
        found.tree = str(older)
        found.policies = [_at(older, path, arguments.tree) for path in arguments.policies]
        if arguments.resources is not None:
            found.resources = _at(older, arguments.resources, arguments.tree)
        yield found


def changed(arguments: argparse.Namespace) -> frozenset[str]:
    """Return the files in which the commit `--head` differs from what it is merged onto."""
    return git.changed(Path(arguments.checkout), arguments.base, arguments.head)


def _at(older: Path, path: str, tree: str) -> str:
    """Return where a path of the tree is at a commit.

    Links are followed there and not here, where the change itself may have put them.
    """
    place = Path(os.path.relpath(path, tree))
    if place.is_absolute() or ".." in place.parts:
        raise InputError(f"{path}: is outside {tree}, so --base cannot read its earlier version")
    return str(older / place)


def policies(versions: list[Version], arguments: argparse.Namespace) -> Iterator["Policy"]:
    """Yield the policies with what they gate; raises InputError where one gates nothing."""
    from krm_windows.forge.policies import Policy  # noqa: PLC0415 - the extra `forge`
    from krm_windows.forge.reach import Reach, of_policies  # noqa: PLC0415 - likewise

    if arguments.paths:
        reach = Reach(globs=tuple(arguments.paths))
        for version in versions:
            yield Policy(version.timetable, reach)
        return
    names = {version.timetable.policy for version in versions}
    found = of_policies(_survey(arguments), names)
    _refuse_ungated(names.difference(policy for policy, _ in found), arguments)
    top = _from_the_top(arguments)
    for (name, cluster), below in found.items():
        reach = below.moved(top)
        for version in versions:
            if version.timetable.policy == name and _is_for(version.timetable, cluster, arguments):
                yield Policy(version.timetable, reach)


def _refuse_ungated(names: Collection[str], arguments: argparse.Namespace) -> None:
    """Refuse policies that gate nothing: they would let every change land."""
    for name in sorted(names):
        raise InputError(
            f"{name} gates nothing in {arguments.tree} (clusters: "
            f"{arguments.clusters or builds.CLUSTERS}): give --tree and --clusters, or use "
            "--paths to say what it gates"
        )


def _from_the_top(arguments: argparse.Namespace) -> str:
    """Return the path of the tree in its repository: a forge names files from the top."""
    root = os.path.realpath(arguments.checkout)
    try:
        layout = git_layout.find(Path(root))
    except WorkspaceError:
        # Nothing but files: they are taken for the whole of it.
        return "."
    return os.path.relpath(root, layout.top)


def _is_for(timetable: Timetable, cluster: str, arguments: argparse.Namespace) -> bool:
    """Whether a version is that of a cluster; a policy without clusters is that of each."""
    asked: str | None = arguments.cluster
    if asked is not None:
        return cluster == asked
    return timetable.cluster in (None, cluster)


def _survey(arguments: argparse.Namespace) -> Survey:
    """Follow what Flux applies from a checkout."""
    root = Path(arguments.tree)
    inputs.check_directory(root)
    tree = Checkout.at(root)
    hints = builds.hints(tree, arguments.source, Path(arguments.checkout))
    with ExitStack() as stack:
        # No cache: a runner has none, and what is built is little.
        builder = Builder.find(None)
        if builder is not None:
            stack.enter_context(builder)
        with progress.meter("builds") as report:
            made = Builds(tree, builder, os.cpu_count() or 1, report)
            found = survey(tree, builds.directories(tree, arguments.clusters), made, hints)
    for notice in found.notices:
        # What it applies may be gated in the cluster, and is not here; or it may be any file.
        if notice.rule in (rules.NOT_FOLLOWED, rules.BUILD_FAILED):
            output.log(f"{notice.about or notice.file}: {notice.message}")
    return found
